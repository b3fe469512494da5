"""Acceptance and speed-ups over all texts and over groups of prompts, with their intervals."""

from dataclasses import replace

import numpy as np
import pytest

from estimator.intervals import student
from estimator.profiles.parts import Alpha, Estimate
from estimator.profiles.profile import LeftOut, Workload
from estimator.profiles.workloads import (
    accepted_by_position,
    by_category,
    by_context,
    measured_alpha,
    speed_ups,
    workloads,
)
from estimator.timing.rates import AGAIN, BASELINE, PROBE, Timed, of_prompts, priced
from estimator.traces.text_traces import replay_factor
from estimator.traces.traces import Trace, alpha, block_efficiency
from reference.records import Block, Generation

GAMMAS = (1, 2, 4)
TOKENS = 40
STEP = 0.010


def text(*beta: float) -> Trace:
    values = np.array(beta)
    return Trace(values, values, None, len(values))


def timed(seconds: dict[int, list[float]]) -> Timed:
    """Returns runs with drafts that are never accepted; seconds of passes by length and prompt."""

    def run(gamma: int, verify: float) -> Generation:
        block = Block(gamma, (7,) * gamma, (3,), 0, 0.05 * gamma * STEP, verify, 0.0, None)
        return Generation((3,) * TOKENS, (block,) * TOKENS, 0.0)

    arms = {BASELINE: 0, AGAIN: 0, **{f"{PROBE}{gamma}": gamma for gamma in GAMMAS}}
    return {arm: [run(gamma, each) for each in seconds[gamma]] for arm, gamma in arms.items()}


def texts(shares: list[float]) -> list[Trace]:
    generator = np.random.default_rng(0)
    return [text(*generator.beta(8 * share, 8 * (1 - share), TOKENS)) for share in shares]


TRACES = texts([0.6, 0.7, 0.65, 0.75])
FLAT = {gamma: [STEP] * 4 for gamma in (0, *GAMMAS)}
RISING = {gamma: [STEP * (1 + 0.02 * i * gamma) for i in range(4)] for gamma in (0, *GAMMAS)}
FIRM = [text(*[rate] * TOKENS) for rate in (0.9, 0.05, 0.8, 0.1)]


def require_interval(number: Estimate | Alpha) -> None:
    assert number.low is not None
    assert number.high is not None
    assert number.low < number.value < number.high


def test_alpha_is_over_tokens_not_over_texts() -> None:
    measured = measured_alpha([text(0.5, 0.7), text(0.9, 0.9, 0.6)])
    assert measured.value == pytest.approx((0.5 + 0.7 + 0.9 + 0.9 + 0.6) / 5)
    assert (measured.tokens, measured.prompts) == (5, 2)
    require_interval(measured)


def test_factors_are_replays_at_the_prices_of_all_prompts() -> None:
    runs = timed(FLAT)
    gained = speed_ups(TRACES, runs, GAMMAS)
    assert list(gained.factors) == [1, 2, 4]
    for gamma, factor in gained.factors.items():
        assert factor.value == pytest.approx(replay_factor(TRACES, gamma, priced(runs)), rel=1e-12)
    assert gained.best == 4
    assert gained.c.value == pytest.approx(0.05)


def test_intervals_leave_out_a_prompt_with_its_text_and_its_timings() -> None:
    runs = timed(RISING)
    gained = speed_ups(TRACES, runs, GAMMAS)
    others = [TRACES[:i] + TRACES[i + 1 :] for i in range(4)]
    costs = [priced({arm: t[:i] + t[i + 1 :] for arm, t in runs.items()}) for i in range(4)]
    factors = [replay_factor(each, 4, cost) for each, cost in zip(others, costs, strict=True)]
    error = np.sqrt(3 / 4 * np.square(np.array(factors) - np.mean(factors)).sum())
    found = gained.factors[4]
    reach = student(3) * error / found.value
    ends = np.log(np.array([found.low, found.high]) / found.value)
    assert ends == pytest.approx([-reach, reach], rel=1e-9)
    assert gained.left_out.improvement_factor[4] == pytest.approx(factors)
    assert gained.left_out.alpha == pytest.approx([alpha(other) for other in others])


def test_where_nothing_gains_0_is_the_best() -> None:
    slow = FLAT | {gamma: [3.0 * STEP] * 4 for gamma in GAMMAS}
    assert speed_ups(texts([0.3] * 4), timed(slow), GAMMAS).best == 0


def test_one_prompt_has_no_intervals_and_nothing_left_out() -> None:
    runs = timed({gamma: [STEP] for gamma in (0, *GAMMAS)})
    gained = speed_ups(FIRM[:1], runs, GAMMAS)
    assert gained.best > 0
    assert gained.left_out == LeftOut((), (), dict.fromkeys(GAMMAS, ()))
    [found] = workloads(FIRM, timed(RISING), {"one": [0]}, gammas=GAMMAS).values()
    numbers: list[Estimate | Alpha] = [
        *gained.factors.values(),
        gained.c,
        found.tokens_per_call[1],
        found.alpha,
    ]
    assert {(number.low, number.high) for number in numbers} == {(None, None)}


def test_categories_keep_the_order_they_come_in() -> None:
    found = by_category(["qa", None, "code", "qa"])
    assert list(found.items()) == [("qa", [0, 3]), ("code", [2])]
    assert by_category([None, None]) == {}


def test_contexts_are_octaves_of_tokens() -> None:
    found = by_context([[0] * length for length in (64, 1, 127, 128, 3, 2)])
    assert list(found.items()) == [
        ("1-1", [1]), ("2-3", [4, 5]), ("64-127", [0, 2]), ("128-255", [3])
    ]  # fmt: skip


def workload(traces: list[Trace], runs: Timed, prompts: list[int]) -> Workload:
    return workloads(traces, runs, {"some": prompts}, gammas=GAMMAS)["some"]


def test_a_workload_follows_from_its_own_prompts() -> None:
    chosen, runs = [0, 2], timed(RISING)
    found = workload(FIRM, runs, chosen)
    own = [FIRM[prompt] for prompt in chosen]
    assert found.alpha == measured_alpha(own)
    gained = speed_ups(own, of_prompts(runs, chosen), GAMMAS)
    assert found.optimal_gamma == gained.best == 4
    assert found.improvement_factor == gained.factors
    for gamma in GAMMAS:
        assert found.tokens_per_call[gamma].value == pytest.approx(block_efficiency(own, gamma))
        require_interval(found.tokens_per_call[gamma])
        require_interval(found.improvement_factor[gamma])


def test_other_prompts_change_nothing() -> None:
    found = workload(FIRM, timed(RISING), [1, 3])
    changed = [replace(FIRM[0], beta=FIRM[1].beta), *FIRM[1:]]
    others = {gamma: [9.0, row[1], 9.0, row[3]] for gamma, row in RISING.items()}
    assert workload(changed, timed(others), [1, 3]) == found
    assert found.optimal_gamma == 0


def test_rates_by_position_never_rise_and_give_the_tokens_per_call() -> None:
    """Blocks that a text's end cuts short count, too: shares over the longer ones could rise."""
    short = [text(*[0.9] * n) for n in (2, 3, 5, 9)]
    for some, gamma in ((short, 8), ([FIRM[0], FIRM[2]], 4)):
        shares = accepted_by_position(some, gamma)
        rates = [share.value for share in shares]
        assert rates == sorted(rates, reverse=True)
        assert 1 + sum(rates) == pytest.approx(block_efficiency(some, gamma))
    for share in shares:
        require_interval(share)
    assert len(shares) == gamma
    [first, *_] = accepted_by_position([FIRM[1]], 4)
    assert (first.low, first.high) == (None, None)
    # A text of two tokens drafts one: no block reaches a second position.
    assert [share.value for share in accepted_by_position([text(1, 1)] * 2, 4)] == [1.0]
