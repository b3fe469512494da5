"""Sessions: prompts are read and timed first, and the whole text is returned."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

import reference.speculative
from reference.laws import Sampling
from reference.records import Generation, Stopping
from reference.speculative import Clock, Session, opening_text, plain_session, start
from tests.reference.tabular import TabularModel, constant


def ticking(monkeypatch: pytest.MonkeyPatch, *ticks: float) -> None:
    """Has decoding read these seconds from its clock, one after another."""
    left = iter(ticks)
    clock = SimpleNamespace(perf_counter=lambda: next(left))
    monkeypatch.setattr(reference.speculative, "time", clock)


def model() -> TabularModel:
    return TabularModel(constant([0.5, 0.25, 0.25]), 3)


def plain(target: TabularModel, *, seed: int = 0) -> Session:
    return plain_session(
        target,
        [0, 1],
        sampling=Sampling(),
        stopping=Stopping(20),
        generator=torch.Generator().manual_seed(seed),
    )


def test_other_seconds_of_a_block_are_those_outside_both_models(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticking(monkeypatch, 10.0, 17.0)
    drafter, target = SimpleNamespace(forward_seconds=2.0), SimpleNamespace(forward_seconds=1.0)
    clock = Clock(drafter, target)
    drafter.forward_seconds, target.forward_seconds = 3.5, 4.0
    assert clock.seconds() == (1.5, 3.0, 2.5)


def test_a_session_has_the_seconds_of_its_prompt_and_returns_its_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticking(monkeypatch, 10.0, 13.0)
    session = plain(model())
    assert session.prefill_seconds == 3.0
    monkeypatch.undo()
    whole = session.finished()
    assert whole == Generation((0, 1), whole.blocks, 3.0)
    assert len(whole.tokens) == 20


def test_a_text_without_a_draft_is_repeated_by_its_generator_alone() -> None:
    first, second = (plain(model()).finished().tokens for _ in range(2))
    assert first == second
    assert plain(model(), seed=1).finished().tokens != first


def test_a_drafter_of_states_reads_the_decoders_text_after_the_target() -> None:
    happened: list[tuple[str, Any]] = []
    target = SimpleNamespace(
        beginning=lambda prompt: [7],
        start=lambda prompt: happened.append(("target", prompt)),
        max_length=None,
        rope_switch_length=None,
    )
    drafter = SimpleNamespace(
        start=lambda prompt, text: happened.append(("drafter", (prompt, text))),
        read_prompt=lambda text: happened.append(("states", text)),
    )
    assert start(target, drafter, [1, 2], Stopping(5))[0] == [7]
    assert happened == [("drafter", ([1, 2], [7])), ("target", [1, 2]), ("states", [7])]


def test_a_prompt_beyond_the_short_rotary_factors_is_not_limited_by_them() -> None:
    target = model()
    target.rope_switch_length = 4
    assert opening_text(target, [0] * 6, Stopping(5)) == [0] * 6
    with pytest.raises(ValueError, match="must fit the 4 positions up to which table keeps"):
        opening_text(target, [0] * 3, Stopping(5))
