"""Replayed speed-ups, their intervals, and the gamma that the data recommends."""

import numpy as np
import pytest

from estimator.intervals import student
from estimator.profiles.profile import LeftOut
from estimator.profiles.workloads import priced, speed_ups
from estimator.timing.rates import Timed, without
from estimator.traces.text_traces import replay_factor
from estimator.traces.traces import Trace, alpha
from reference.records import Block, Generation

GAMMAS = [1, 2, 4]
TOKENS = 40
STEP = 0.010


def decoded(gamma: int, verify: float, draft: float = 0.0) -> Generation:
    """Returns a text of blocks that draft gamma tokens and are never accepted."""
    block = Block(gamma, (0,) * gamma, (1,), 0, draft, verify, 0.0, None)
    return Generation((0,), (block,) * TOKENS, 0.0)


def texts(verify: dict[int, list[float]]) -> Timed:
    """Returns runs whose target passes take these seconds, by drafted tokens and prompt."""
    base = {"again": [decoded(0, STEP) for _ in verify[1]]}
    return base | {
        f"probe {gamma}": [decoded(gamma, v, draft=0.0005 * gamma) for v in seconds]
        for gamma, seconds in verify.items()
    }


def traces(shares: list[float]) -> list[Trace]:
    generator = np.random.default_rng(0)
    acceptances = [generator.beta(8 * share, 8 * (1 - share), TOKENS) for share in shares]
    return [Trace(beta=a, ratio=a, drafted=None, limit=TOKENS) for a in acceptances]


SHARES = [0.6, 0.7, 0.65, 0.75]
FLAT = {gamma: [STEP] * 4 for gamma in GAMMAS}


def test_factors_are_replays_at_the_prices_of_all_prompts() -> None:
    recorded, runs = traces(SHARES), texts(FLAT)
    gained = speed_ups(recorded, runs, GAMMAS)
    assert list(gained.factors) == [1, 2, 4]
    for gamma, factor in gained.factors.items():
        assert factor.value == pytest.approx(
            replay_factor(recorded, gamma, priced(runs)), rel=1e-12
        )
    assert gained.best == 4
    assert gained.c.value == pytest.approx(0.05)


def test_intervals_leave_out_a_prompt_with_its_text_and_its_timings() -> None:
    verify = {gamma: [STEP * (1 + 0.02 * i * gamma) for i in range(4)] for gamma in GAMMAS}
    recorded, runs = traces(SHARES), texts(verify)
    gained = speed_ups(recorded, runs, GAMMAS)
    left_out = [
        replay_factor(recorded[:i] + recorded[i + 1 :], 4, priced(without(runs, i)))
        for i in range(4)
    ]
    error = np.sqrt(3 / 4 * np.square(np.array(left_out) - np.mean(left_out)).sum())
    found = gained.factors[4]
    reach = student(3) * error / found.value
    assert np.log(np.array([found.low, found.high]) / found.value) == pytest.approx(
        [-reach, reach], rel=1e-9
    )
    assert gained.left_out.improvement_factor[4] == pytest.approx(left_out)
    assert gained.left_out.alpha == pytest.approx(
        [alpha(recorded[:i] + recorded[i + 1 :]) for i in range(4)]
    )


def test_where_nothing_gains_0_is_the_best() -> None:
    slow = {gamma: [3.0 * STEP] * 4 for gamma in GAMMAS}
    gained = speed_ups(traces([0.3] * 4), texts(slow), GAMMAS)
    assert gained.best == 0


def test_one_prompt_has_no_intervals() -> None:
    one = {gamma: [STEP] for gamma in GAMMAS}
    gained = speed_ups(traces([0.8]), texts(one), GAMMAS)
    assert gained.best > 0
    for number in (*gained.factors.values(), gained.c):
        assert number.low is number.high is None
    assert gained.left_out == LeftOut((), (), dict.fromkeys(GAMMAS, ()))
