"""The order in which a validation's arms run, and the adaptive policy's planner."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

import estimator.timing.arms
from estimator.timing.arms import (
    WARM_UP_TOKENS,
    Decoder,
    Speculative,
    adaptive,
    planner,
    planning_generations,
    probed,
    probed_gammas,
    probing,
    run_arms,
)
from estimator.timing.precision import Timing
from estimator.timing.rates import of_prompts, probes, timed
from reference.policies import Fixed
from reference.speculative import Session, Subject
from simulator.acceptance.acceptance import Iid
from simulator.choice.curve import speed_up
from simulator.cost.curves import CostModel
from tests.estimator.pairs import PROMPTS, tiny_subject


# Free bytes for all arms at once, for three, and for one.
@pytest.mark.parametrize("free", [1e12, 3e6, 0.0])
def test_every_arm_is_warmed_up_then_all_run_prompt_by_prompt(
    free: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drift between prompts, or at the start, affects all arms equally."""
    prompts = PROMPTS[1:3]
    subject = tiny_subject(0.0, 14)
    begun: list[tuple[str, int, tuple[int, ...]]] = []

    def seen(name: str, decoder: Decoder) -> Decoder:
        def begin(own: Subject, prompt: Sequence[int], generator: torch.Generator) -> Session:
            begun.append((name, own.stopping.max_new_tokens, tuple(prompt)))
            return decoder(own, prompt, generator)

        return begin

    monkeypatch.setattr("estimator.timing.turns.free_bytes", lambda _: free)
    arms = probing([1, 2]) | {f"gamma {g}": Speculative(Fixed(g)) for g in (2, 5)}
    ended: list[None] = []
    runs = run_arms(
        subject,
        prompts,
        {name: seen(name, decoder) for name, decoder in arms.items()},
        Timing(repeats=2, progress=lambda: ended.append(None)),
    )
    longest = tuple(max(prompts, key=len))
    assert begun[: len(arms)] == [(name, WARM_UP_TOKENS, longest) for name in arms]
    rows = [begun[at : at + len(arms)] for at in range(len(arms), len(begun), len(arms))]
    assert [row[0][2] for row in rows] == [tuple(prompt) for prompt in prompts] * 2
    for row in rows:
        assert sorted(name for name, _, _ in row) == sorted(arms)
        assert {(tokens, prompt) for _, tokens, prompt in row} == {(14, row[0][2])}
    assert len({tuple(name for name, _, _ in row) for row in rows}) > 1
    assert len(ended) == 2 * len(prompts) * (2 + len(arms))
    texts = {text.tokens for row in runs.values() for text in row[0]}
    assert len(texts) == 1  # greedy: the target's own, whoever decodes


def test_every_probing_text_keeps_one_draft_length() -> None:
    """So each of its blocks but the last, which the end cuts, follows one of its own shape."""
    subject = tiny_subject(0.0, 14)
    runs = run_arms(
        subject,
        PROMPTS,
        probing([1, 3]) | {"gamma 2": Speculative(Fixed(2))},
        Timing(repeats=2),
    )
    texts = timed(runs)
    probed_texts = probes(texts)
    assert len(probed_texts) == 2 * len(PROMPTS)
    for row, text in enumerate(probed_texts):
        gamma = 1 if row < len(PROMPTS) else 3
        assert {block.gamma for block in text.blocks[:-2]} == {gamma}
        assert all(block.gamma <= gamma for block in text.blocks)
    count = len(PROMPTS)
    assert probes(of_prompts(texts, range(1, count))) == [
        *probed_texts[1:count],
        *probed_texts[count + 1 :],
    ]


@pytest.mark.parametrize(
    ("timing", "repeats"),
    [(Timing(2), [2, 2, 2]), (Timing(3, percent=1e9), [1, 1, 1]), (Timing(3, seconds=0), [1, 1])],
)
def test_runs_end_when_they_are_precise_or_late(timing: Timing, repeats: list[int]) -> None:
    runs = run_arms(tiny_subject(0.0, 2), PROMPTS[:3], probing([1]), timing)
    for rows in runs.values():
        assert [len(row) for row in rows] == repeats


def test_a_lone_draft_length_is_probed_beside_none() -> None:
    assert probed([4]) == [0, 4]
    assert probed([0]) == [0]
    assert probed([8, 2, 8]) == [2, 8]


def test_each_way_to_decode_is_warmed_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    began: list[int | None] = []

    def counted(begin: Callable[..., Session]) -> Callable[..., Session]:
        def start(*given: Any, **settings: Any) -> Session:
            began.append(next((each.value for each in given if isinstance(each, Fixed)), None))
            return begin(*given, **settings)

        return start

    for name in ("plain_session", "speculative_session"):
        begin = getattr(estimator.timing.arms, name)
        monkeypatch.setattr(estimator.timing.arms, name, counted(begin))
    arms = probing([2]) | {"gamma 2": Speculative(Fixed(2))}
    run_arms(tiny_subject(0.0, 2), PROMPTS[:1], arms, Timing())
    warmed, ran = began[:3], began[3:]
    assert warmed == [None, 0, 2]
    assert sorted(ran, key=str) == [0, 2, 2, None, None]


COST = CostModel(target_seconds={1: 1.0, 3: 1.2, 9: 2.0}, draft_seconds=0.1, overhead_seconds=0.05)


def test_the_planner_chooses_the_best_gamma_at_each_alpha() -> None:
    plan = planner(COST, max_gamma=8)
    for alpha in np.linspace(0, 1, 41):
        factors = [speed_up(Iid(alpha), COST, gamma) for gamma in range(9)]
        assert factors[plan(alpha)] == pytest.approx(max(factors))


def test_the_planner_does_not_speculate_without_acceptance() -> None:
    assert planner(COST, max_gamma=8)(0.0) == 0
    assert planner(COST, max_gamma=8)(1.0) == 8


@pytest.mark.parametrize(
    ("most", "gammas"), [(1, [1]), (2, [1, 2]), (5, [1, 2, 4, 5]), (16, [1, 2, 4, 8, 16])]
)
def test_a_curve_is_probed_at_few_points(most: int, gammas: list[int]) -> None:
    assert probed_gammas(most) == gammas


def test_the_adaptive_policy_plans_with_its_measured_costs() -> None:
    calls: list[int] = []
    timing = Timing(progress=lambda: calls.append(1))
    policy = adaptive(tiny_subject(), PROMPTS, timing, max_gamma=4)
    # Two prompts; baseline, its second run and three probes.
    assert len(calls) == planning_generations(PROMPTS, 4) == 10
    assert 0 <= policy.gamma([]) <= 4
