"""The interval of the speed-up foreseen, against runs drawn from a law that is known."""

import numpy as np
import pytest
from numpy.typing import NDArray

import estimator.intervals
import estimator.traces.ahead
from estimator.traces.ahead import ahead_interval, replay_factor
from estimator.traces.traces import Trace
from simulator.cost.curves import CostModel

COST = CostModel(target_seconds={1: 1.0, 5: 1.4}, draft_seconds=0.1, overhead_seconds=0.05)
GAMMA = 4
PROMPTS, TOKENS = 12, 48
TRIALS, REPLICATES = 120, 300
CLOCK = 0.01


@pytest.fixture
def fewer_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (estimator.traces.ahead, estimator.intervals):
        monkeypatch.setattr(module, "REPLICATES", REPLICATES)


def text(level: float, likeness: float, generator: np.random.Generator) -> Trace:
    """Returns a text whose acceptances scatter about its own mean, and that about the prompt's.

    The larger likeness, the more alike texts of one prompt: the luck is then of acceptances.
    """
    own = generator.beta(likeness * level, likeness * (1 - level))
    acceptance = generator.beta(likeness * own / 6, likeness * (1 - own) / 6, TOKENS)
    return Trace(beta=acceptance, acceptance=acceptance, drafted=None, limit=TOKENS)


def run_seconds(acceptance: NDArray[np.float64], generator: np.random.Generator) -> float:
    """Returns the seconds of one run along a text, block after block."""
    seconds, position = 0.0, 0
    while position < TOKENS:
        drafted = min(GAMMA, TOKENS - position - 1)
        accepted = 0
        while accepted < drafted and generator.random() < acceptance[position + accepted]:
            accepted += 1
        seconds += float(COST.block_seconds(drafted))
        position += accepted + 1
    return seconds


def trials(
    likeness: float, generator: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns log(measured / predicted), shape (TRIALS,), and log(bound / predicted), (.., 2)."""
    deviations, bounds = [], []
    for _ in range(TRIALS):
        levels = generator.uniform(0.4, 0.9, PROMPTS)
        first, second, own = (
            [text(level, likeness, generator) for level in levels] for _ in range(3)
        )
        pairs = list(zip(first, second, strict=True))
        seconds = sum(run_seconds(trace.acceptance, generator) for trace in own)
        clock = np.exp(generator.normal(0, CLOCK))
        measured = PROMPTS * TOKENS * COST.baseline_seconds / seconds * clock
        predicted = replay_factor([trace for pair in pairs for trace in pair], GAMMA, COST)
        noise = generator.normal(0, CLOCK, REPLICATES)
        ends = ahead_interval(pairs, GAMMA, COST, noise=noise, generator=generator)
        deviations.append(np.log(measured / predicted))
        bounds.append(np.log(np.array(ends) / predicted))
    return np.array(deviations), np.array(bounds)


@pytest.mark.usefixtures("fewer_replicates")
@pytest.mark.parametrize("likeness", [12.0, 600.0])
def test_the_interval_covers_runs_and_is_no_wider_than_it_must_be(likeness: float) -> None:
    """A 95 % interval from 12 prompts, whose scatter is known to a fifth, covers some 92.5 %.

    Of 120 fewer than 99 then cover once in 12,000 seeds, and all 120 once in 11,000. Their mean
    width is compared with that of the middle 95 % of all deviations, which 120 trials tell to about
    9 %: a factor of 1.5 is 4.5 standard errors.
    """
    deviations, bounds = trials(likeness, np.random.default_rng(0))
    covered = (bounds[:, 0] <= deviations) & (deviations <= bounds[:, 1])
    assert 99 <= covered.sum() < TRIALS
    exact = np.diff(np.percentile(deviations, [2.5, 97.5]))[0]
    assert exact / 1.5 < np.diff(bounds).mean() < 1.5 * exact


def test_of_one_outcome_the_clock_alone_is_uncertain() -> None:
    """Temperature 0: both texts are one, and each acceptance is certain or impossible."""
    generator = np.random.default_rng(1)
    pairs = []
    for _ in range(3):
        acceptance = (generator.random(TOKENS) < 0.7).astype(np.float64)
        trace = Trace(beta=acceptance, acceptance=acceptance, drafted=None, limit=TOKENS)
        pairs.append((trace, trace))
    noise = generator.normal(0, CLOCK, estimator.intervals.REPLICATES)
    ends = ahead_interval(pairs, GAMMA, COST, noise=noise, generator=generator)
    factor = replay_factor([first for first, _ in pairs], GAMMA, COST)
    assert ends == pytest.approx(factor * np.percentile(np.exp(noise), [2.5, 97.5]), rel=1e-12)
