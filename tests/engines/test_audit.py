"""The audit: silent where an engine obeys its models' laws, one sentence where it does not."""

import numpy as np
import pytest

from engines.counting import NOTHING, Counts
from engines.text_scores import TextScores
from engines.trials.audit import Predicted, audit, predict, simulated, text_gap
from simulator.acceptance.replay import Replay

GAMMA = 3


def chances(*, seed: int, texts: int = 12, tokens: int = 60) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.beta(1.2, 0.8, tokens) for _ in range(texts)]


def decoded(
    texts: list[np.ndarray], generator: np.random.Generator, *, share: float = 1.0
) -> Counts:
    """Returns the counters of Algorithm 1 along texts, one block at a time."""
    drafts, drafted, accepted = 0, 0, [0] * GAMMA
    for text in texts:
        at = 0
        while at < len(text):
            room = min(GAMMA, len(text) - 1 - at)
            drafts += room > 0
            drafted += room
            stands = 0
            while stands < room and generator.random() < share * text[at + stands]:
                accepted[stands] += 1
                stands += 1
            at += stands + 1
    return Counts.of(drafts, drafted, tuple(accepted))


def prediction(
    texts: list[np.ndarray],
    *,
    gamma: int = GAMMA,
    repeats: int = 1,
    drafts_past_end: bool = False,
    seed: int = 0,
) -> Predicted:
    return predict(
        texts,
        times=[repeats] * len(texts),
        gamma=gamma,
        drafts_past_end=drafts_past_end,
        resample=False,
        generator=np.random.default_rng(seed),
    )


def sentence(predicted: Predicted, counts: Counts) -> str:
    return audit(predicted, counts)[1]


def test_predicted_rates_are_those_of_replay() -> None:
    texts = chances(seed=1)
    predicted = prediction(texts)
    starts = [Replay(text).starts(GAMMA) for text in texts]
    drafts = sum(float(start[:-1].sum()) for start in starts)
    first = sum(float((start * text)[:-1].sum()) for start, text in zip(starts, texts, strict=True))
    # A ratio of sums over at least 1000 runs of each text: 4 standard errors of their mean.
    deviation = (predicted.rates[0].high - predicted.rates[0].low) / (2 * 1.645)
    error = 4 * deviation / np.sqrt(1000)
    assert predicted.rates[0].value == pytest.approx(first / drafts, abs=error)
    accepted = sum(rate.value for rate in predicted.rates) * drafts
    calls = sum(float(Replay(text).calls(GAMMA)) for text in texts)
    tokens = sum(len(text) for text in texts)
    assert accepted == pytest.approx(tokens - calls, rel=0.01)


def test_an_engine_that_obeys_the_laws_is_explained() -> None:
    for seed in range(5):
        texts = chances(seed=seed)
        counts = decoded(texts, np.random.default_rng(100 + seed))
        assert sentence(prediction(texts), counts) == ""


def test_an_engine_that_accepts_a_fifth_less_is_named() -> None:
    texts = chances(seed=1)
    found = sentence(prediction(texts), decoded(texts, np.random.default_rng(2), share=0.8))
    assert found.startswith("this engine accepts 0.4")
    assert "at position 1 where its models allow 0.6" in found
    assert found.endswith("its drafts or its verification are not what it says")


def test_blocks_past_the_end_are_counted_where_the_engine_counts_them() -> None:
    certain = [np.ones(7)]
    inside, past = prediction(certain), prediction(certain, drafts_past_end=True)
    # Seven sure tokens: blocks of four and three; the second may draft two, or all three.
    assert [rate.value for rate in inside.rates] == [1, 1, 0.5]
    assert [rate.value for rate in past.rates] == [1, 1, 1]


def test_drafts_past_the_end_of_repeated_texts_are_explained() -> None:
    gamma, repeats = 8, 7
    generator = np.random.default_rng(0)
    for _ in range(12):
        texts = [(generator.random(46) < 0.7).astype(float) for _ in range(8)]
        total = NOTHING
        for text in texts:
            beyond = (generator.random(gamma) < 0.7).astype(float)
            blocks = whole_blocks(np.concatenate([text, beyond]), end=len(text), gamma=gamma)
            total = sum([blocks] * repeats, total)
        predicted = prediction(
            texts, gamma=gamma, repeats=repeats, drafts_past_end=True, seed=generator.integers(99)
        )
        # For 96 rates, at most one false alarm in a hundred tests.
        assert sentence(predicted, total) == ""


def whole_blocks(stands: np.ndarray, *, end: int, gamma: int) -> Counts:
    """Returns the counters of blocks that draft γ tokens to the last."""
    drafts, accepted, at = 0, np.zeros(gamma, dtype=int), 0
    while at < end:
        run = np.logical_and.accumulate(stands[at : at + gamma] > 0)
        accepted += run
        drafts += 1
        at += int(run.sum()) + 1
    return Counts.of(drafts, gamma * drafts, tuple(accepted.tolist()))


def test_rare_acceptances_are_named_as_seldom_as_common_ones() -> None:
    from scipy.stats import poisson

    # Few of some 115 drafts are accepted at position 1, nearly by Poisson's law. Four deviations
    # above their number are passed in 7e-4 of all cases.
    predicted, drafts = prediction([np.full(40, 0.02)] * 3), 115
    expected = predicted.rates[0].value * drafts
    assert 2 < expected < 3
    assert poisson.sf(predicted.limits[0][1] * drafts, expected) < 1e-4
    assert poisson.sf(expected + 4 * np.sqrt(expected), expected) > 5e-4
    assert sentence(predicted, Counts.of(drafts, 3 * drafts, (16, 0, 0)))


def test_simulated_rates_are_binomial() -> None:
    predicted = simulated([0.5, 0.1], drafts=100)
    assert predicted.rates[1].high == pytest.approx(0.1 + 1.644854 * 0.03, abs=1e-4)
    # At a rate of 0.1, between 1 and 23 of 100 drafts are accepted but in 1 of 10 000 cases.
    assert predicted.limits[1] == (0.01, 0.23)
    assert sentence(predicted, Counts.of(100, 200, (55, 12))) == ""
    assert sentence(predicted, Counts.of(100, 200, (75, 12)))


def scores(mean: float, generator: np.random.Generator) -> TextScores:
    return TextScores.of(mean - np.abs(generator.normal(0, 0.5, 40)), np.ones(40, dtype=int))


def test_texts_of_another_law_are_found_by_the_targets_own_scores() -> None:
    generator = np.random.default_rng(0)
    own, same, other = (
        [[scores(mean, generator) for _ in range(8)]] for mean in (-1.5, -1.5, -9.0)
    )
    assert text_gap(same, own) is None
    gap = text_gap(other, own)
    assert gap is not None
    assert "mean log-probability of -9." in gap
    _, found = audit(simulated([0.5], drafts=100), Counts.of(100, 100, (50,)), text_gap=gap)
    assert found.startswith("its texts are not the target's: the target gives")
