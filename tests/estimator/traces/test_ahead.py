"""The interval of the speed-up foreseen, against runs drawn from a law that is known."""

import numpy as np
import pytest
from numpy.typing import NDArray

import estimator.traces.text_traces
from estimator.intervals import student
from estimator.timing.rates import Noise
from estimator.traces.text_traces import ahead_interval, replay_factor
from estimator.traces.traces import Trace
from simulator.cost.curves import CostModel

COST = CostModel(target_seconds={1: 1.0, 5: 1.4}, draft_seconds=0.1, overhead_seconds=0.05)
GAMMA = 4
PRICES = [float(COST.block_seconds(drafted)) for drafted in range(GAMMA + 1)]
TOKENS = 48
TRIALS, REPLICATES = 120, 100
CLOCK = 0.01


@pytest.fixture
def fewer_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimator.traces.text_traces, "REPLICATES", REPLICATES)


def text(level: float, likeness: float, generator: np.random.Generator) -> Trace:
    """Returns a text whose acceptances scatter about its own mean, and that about the prompt's.

    The larger likeness, the more alike texts of one prompt: the luck is then of acceptances.
    """
    own = generator.beta(likeness * level, likeness * (1 - level))
    acceptance = generator.beta(likeness * own / 6, likeness * (1 - own) / 6, TOKENS)
    return Trace(beta=acceptance, ratio=acceptance, drafted=None, limit=TOKENS)


def run_seconds(acceptance: NDArray[np.float64], generator: np.random.Generator) -> float:
    """Returns the seconds of one run along a text, block after block."""
    seconds, position = 0.0, 0
    while position < TOKENS:
        drafted = min(GAMMA, TOKENS - position - 1)
        accepted = 0
        while accepted < drafted and generator.random() < acceptance[position + accepted]:
            accepted += 1
        seconds += PRICES[drafted]
        position += accepted + 1
    return seconds


def trials(
    prompts: int, likeness: float, generator: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns log(measured / predicted), shape (TRIALS,), and log(bound / predicted), (.., 2).

    The clock's error is estimated as a validation estimates it: from as many differences of equal
    work as there are prompts.
    """
    deviations, bounds = [], []
    for _ in range(TRIALS):
        levels = generator.uniform(0.4, 0.9, prompts)
        first, second, own = (
            [text(level, likeness, generator) for level in levels] for _ in range(3)
        )
        pairs = list(zip(first, second, strict=True))
        seconds = sum(run_seconds(trace.acceptance, generator) for trace in own)
        clock = np.exp(generator.normal(0, CLOCK * np.sqrt(2)))
        measured = prompts * TOKENS * COST.baseline_seconds / seconds * clock
        predicted = replay_factor([trace for pair in pairs for trace in pair], GAMMA, COST)
        error = CLOCK * np.sqrt(generator.chisquare(prompts) / prompts)
        noise = Noise(logarithm=0.0, error=float(error), prompts=prompts)
        ends = ahead_interval(pairs, GAMMA, COST, noise=noise, generator=generator)
        deviations.append(np.log(measured / predicted))
        bounds.append(np.log(np.array(ends) / predicted))
    return np.array(deviations), np.array(bounds)


@pytest.mark.usefixtures("fewer_replicates")
@pytest.mark.parametrize(("prompts", "likeness"), [(4, 12.0), (8, 600.0), (12, 12.0)])
def test_the_interval_covers_runs_and_is_no_wider_than_it_must_be(
    prompts: int, likeness: float
) -> None:
    """108 of 120 intervals of 90 % should cover; fewer than 95 do once in 10,000 seeds.

    (Binomial with success 0.9: 1.2e-4.) Their median width is compared with that
    of the middle 90 % of all deviations, which 120 trials give to about 9 %: a factor of 1.5 is 4.5
    standard errors; Student's t of few degrees of freedom is wider by itself.
    """
    deviations, bounds = trials(prompts, likeness, np.random.default_rng(prompts))
    covered = (bounds[:, 0] <= deviations) & (deviations <= bounds[:, 1])
    assert covered.sum() >= 95
    exact = np.diff(np.percentile(deviations, [5, 95]))[0]
    wider = student(prompts) / student(np.inf)
    assert exact / 1.5 < np.median(np.diff(bounds)) < 1.5 * wider * exact


def certain(shares: list[float], generator: np.random.Generator) -> list[Trace]:
    """Returns texts of which each acceptance is certain or impossible."""
    acceptances = [(generator.random(TOKENS) < share).astype(np.float64) for share in shares]
    return [Trace(beta=a, ratio=a, drafted=None, limit=TOKENS) for a in acceptances]


@pytest.mark.parametrize("error", [0.03, 0.0])
def test_of_one_outcome_the_clock_alone_is_uncertain(error: float) -> None:
    """Temperature 0: both texts are one. A measurement over a prediction holds two ratios."""
    generator = np.random.default_rng(1)
    texts = certain([0.7] * 3, generator)
    noise = Noise(logarithm=0.02, error=error, prompts=3)
    pairs = list(zip(texts, texts, strict=True))
    ends = ahead_interval(pairs, GAMMA, COST, noise=noise, generator=generator)
    reach = student(3) * np.sqrt(2) * error
    factor = replay_factor(texts, GAMMA, COST)
    assert ends == pytest.approx((factor * np.exp(-reach), factor * np.exp(reach)), rel=1e-12)
    one = ahead_interval(pairs[:1], GAMMA, COST, noise=noise, generator=generator)
    assert one == (None, None)


def test_a_run_deviates_by_one_text_and_its_prediction_by_the_mean_of_two() -> None:
    """With a perfect clock and certain acceptances only texts differ.

    If two texts of a prompt differ by d seconds, the variance of one is d²/2, and of their
    mean d²/4: in all 3/4 of the sum of d².
    """
    generator = np.random.default_rng(2)
    firsts = certain([0.5, 0.7, 0.9, 0.6], generator)
    seconds = certain([0.6, 0.7, 0.7, 0.8], generator)
    # A text that ended early is compared by what as many tokens would have taken.
    short = firsts[0].acceptance[:30]
    firsts[0] = Trace(beta=short, ratio=short, drafted=None, limit=TOKENS)
    perfect = Noise(logarithm=0.0, error=0.0, prompts=4)
    pairs = list(zip(firsts, seconds, strict=True))
    ends = ahead_interval(pairs, GAMMA, COST, noise=perfect, generator=generator)
    taken, others = (
        np.array([each.replay.seconds(GAMMA, COST) for each in texts])
        for texts in (firsts, seconds)
    )
    apart = taken - others * [first.tokens / second.tokens for first, second in pairs]
    error = np.sqrt(0.75 * np.square(apart).sum()) / taken.sum()
    factor = replay_factor([*firsts, *seconds], GAMMA, COST)
    reach = np.array([-1, 1]) * student(4) * error
    assert np.log(np.array(ends) / factor) == pytest.approx(reach, rel=1e-9)


def test_degrees_of_freedom_are_welchs() -> None:
    """Texts and clock are estimates of 2 and 5 degrees, which Welch and Satterthwaite join."""
    generator = np.random.default_rng(3)
    pairs = list(zip(certain([0.5, 0.8], generator), certain([0.7, 0.6], generator), strict=True))

    def spread(error: float) -> float:
        noise = Noise(logarithm=0.0, error=error, prompts=5)
        ends = ahead_interval(pairs, GAMMA, COST, noise=noise, generator=generator)
        return float(np.diff(np.log(np.array(ends)))[0] / 2)

    texts = (spread(0.0) / student(2)) ** 2
    clock = 2 * 0.1**2
    degrees = (texts + clock) ** 2 / (texts**2 / 2 + clock**2 / 5)
    assert spread(0.1) == pytest.approx(student(degrees) * np.sqrt(texts + clock), rel=1e-9)
