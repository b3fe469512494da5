"""Where a block's time goes, and that it waits for the device once."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from reference.laws import Sampling
from reference.models.architectures import CausalModel
from reference.models.model import Stopwatch
from reference.policies import Confidence, Fixed, Policy
from reference.records import Generation, Stopping
from tests.reference.decoding import alone, speculate_models
from tests.reference.tiny_models import llama

VOCABULARY = 8
STEP_SECONDS = 0.002
# Calls that make the processor wait until a CUDA device has computed the value that it reads.
# `numpy` is none of them: it refuses what lies on a device, and on a CPU there is no wait.
WAITS = ("tolist", "item", "cpu", "nonzero", "__bool__", "__int__", "__float__", "__index__")


class Clocked:
    """A model of random rows whose every pass takes a while."""

    vocabulary = VOCABULARY
    device = torch.device("cpu")
    max_length = None
    rope_switch_length = None

    def __init__(self, seed: int, seconds: float) -> None:
        self.name = f"clocked {seed}"
        self.rows = torch.randn(
            VOCABULARY, VOCABULARY, generator=torch.Generator().manual_seed(seed)
        )
        self.seconds = seconds
        self.length = 0
        self._stopwatch = Stopwatch(self.device)

    @property
    def forward_seconds(self) -> float:
        return self._stopwatch.seconds

    def beginning(self, prompt: Sequence[int]) -> list[int]:
        return list(prompt)

    def start(self, prompt: Sequence[int]) -> list[int]:
        with self._stopwatch:
            time.sleep(20 * self.seconds)
        self.length = len(prompt) - 1
        return list(prompt)

    def extend(self, tokens: Tensor) -> Tensor:
        self.length += len(tokens)
        with self._stopwatch:
            time.sleep(self.seconds)
            return self.rows[tokens]

    def rollback(self, length: int) -> None:
        assert length <= self.length
        self.length = length


def run(policy: Policy, sampling: Sampling, *, seconds: float = 0.0) -> Generation:
    target, draft = Clocked(0, 3 * seconds), Clocked(1, seconds)
    return speculate_models(target, draft, [1, 2, 3], sampling, policy, Stopping(30), seed=0)


def count_waits(monkeypatch: pytest.MonkeyPatch, decoding: Callable[[], object]) -> int:
    """Returns how often decoding reads a tensor's values."""
    waits = 0

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal waits
            waits += 1
            return method(*arguments, **options)

        return call

    with monkeypatch.context() as patches:
        for name in WAITS:
            patches.setattr(Tensor, name, counted(getattr(Tensor, name)))
        decoding()
    return waits


SAMPLINGS = [
    Sampling(0.0),
    Sampling(),
    Sampling(0.8, top_k=5, top_p=0.9, min_p=0.1, repetition_penalty=1.2),
]


@pytest.mark.parametrize("gamma", [0, 1, 4])
@pytest.mark.parametrize("sampling", SAMPLINGS, ids=["greedy", "plain", "all settings"])
def test_a_block_waits_for_the_device_once(
    sampling: Sampling, gamma: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = run(Fixed(gamma), sampling).blocks
    assert count_waits(monkeypatch, lambda: run(Fixed(gamma), sampling)) == len(blocks)


@pytest.mark.parametrize("gamma", [0, 1, 4])
def test_the_target_is_fed_the_last_token_and_the_draft_and_nothing_twice(
    gamma: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fed: list[tuple[str, int]] = []
    extend = Clocked.extend

    def recorded(model: Clocked, tokens: Tensor) -> Tensor:
        fed.append((model.name, len(tokens)))
        return extend(model, tokens)

    monkeypatch.setattr(Clocked, "extend", recorded)
    blocks = run(Fixed(gamma), Sampling()).blocks
    assert [tokens for name, tokens in fed if name == "clocked 0"] == [
        len(block.drafted) + 1 for block in blocks
    ]
    # The draft sees each position once, and again only the token that replaces a rejected one.
    steps = [tokens for name, tokens in fed if name == "clocked 1"]
    assert len(steps) == sum(len(block.drafted) for block in blocks)
    assert set(steps) <= {1, 2}


def test_plain_decoding_waits_once_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    target, stopping = Clocked(0, 0.0), Stopping(10)
    waits = count_waits(monkeypatch, lambda: alone(target, [1, 2, 3], Sampling(), stopping))
    assert waits == 10


def test_confidence_waits_once_for_each_drafted_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    policy = Confidence(0.0, most=3)
    blocks = run(policy, Sampling()).blocks
    options = sum(max(len(block.drafted) - 1, 0) for block in blocks)
    assert count_waits(monkeypatch, lambda: run(policy, Sampling())) == len(blocks) + options


def test_seconds_are_those_of_drafting_of_verifying_and_the_rest() -> None:
    """Sleeping models: each part is at least what was slept in it."""
    generation = run(Fixed(2), Sampling(), seconds=STEP_SECONDS)
    assert generation.prefill_seconds >= 80 * STEP_SECONDS
    for block in generation.blocks:
        assert block.draft_seconds >= len(block.drafted) * STEP_SECONDS
        assert block.verify_seconds >= 3 * STEP_SECONDS
        assert block.other_seconds > 0
        assert block.seconds == block.draft_seconds + block.verify_seconds + block.other_seconds
    whole = sum(block.seconds for block in generation.blocks)
    assert generation.decode_seconds == pytest.approx(whole)
    assert whole == pytest.approx(
        generation.draft_seconds + generation.verify_seconds + generation.other_seconds
    )


def test_seconds_on_cuda_are_read_once_the_device_has_finished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Events, which the device records in passing; reading them waits only for their pass."""
    happened: list[str] = []

    class Event:
        count = 0

        def __init__(self, *, enable_timing: bool) -> None:
            assert enable_timing
            Event.count += 1
            self.number = Event.count

        def record(self, stream: str) -> None:
            assert stream == "stream of cuda"
            happened.append(f"record {self.number}")

        def synchronize(self) -> None:
            happened.append(f"wait for {self.number}")

        def elapsed_time(self, end: "Event") -> float:
            happened.append(f"read {self.number} to {end.number}")
            return 1500.0

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: f"stream of {device}")
    stopwatch = Stopwatch(torch.device("cuda"))
    for _ in range(2):
        with stopwatch:
            happened.append("pass")
    passes = ["record 1", "pass", "record 2", "record 3", "pass", "record 4"]
    assert happened == passes
    assert stopwatch.seconds == 3.0
    assert happened == [*passes, "wait for 2", "read 1 to 2", "wait for 4", "read 3 to 4"]
    assert stopwatch.seconds == 3.0


def test_a_repeat_on_the_same_prompt_passes_it_through_the_model_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A cache kept from the last run would flatter the times of the next."""
    module = llama(vocab_size=20, num_hidden_layers=1)
    target = CausalModel(module, "tiny")
    fed: list[int] = []
    forward = module.forward

    def recorded(**options: Any) -> Any:
        fed.append(options["input_ids"].shape[1])
        return forward(**options)

    monkeypatch.setattr(module, "forward", recorded)
    for _ in range(2):
        alone(target, [1, 2, 3, 4, 5], Sampling(0.0), Stopping(2))
    assert fed == [4, 1, 1] * 2
