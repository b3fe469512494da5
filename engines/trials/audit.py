"""The acceptance audit: compares an engine's counts with the acceptance that its models allow.

Along a text that the target wrote, Algorithm 1 accepts the drafted token at position t with
probability a_t. `predict` draws the chain of blocks along each text many times. If the engine
verifies correctly, its counts are one more such draw. They then lie below or above all DRAWS others
in 2 of DRAWS + 1 cases, for any number of blocks (a Monte Carlo test; Dwass 1957).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engines.counting import Counts, RateInterval, rate_interval
from simulator.numerics.intervals import ENDS, deviations

DRAWS = 19_999
# Probability that a correct engine is reported at one position.
FALSE_ALARM = 2 / (DRAWS + 1)
# Least number of simulated runs along each text; a draw combines runs of several texts.
REPLICATES = 1000
# Blocks that change if rounding decides a near tie: its own, and a few until both texts agree.
TIPPED_BLOCKS = 4


@dataclass(frozen=True, slots=True)
class Predicted:
    """Predicted acceptance, by position.

    rates: unconditional acceptance rates, each the mean over draws with an interval.
    limits: smallest and largest counted rate that the audit accepts.
    """

    rates: tuple[RateInterval, ...]
    limits: tuple[tuple[float, float], ...]


def predict(
    acceptances: Sequence[NDArray[np.float64]],
    *,
    times: Sequence[int],
    gamma: int,
    drafts_past_end: bool,
    resample: bool,
    generator: np.random.Generator,
) -> Predicted:
    """Returns the predicted acceptance rate of each drafted position, with the audit's limits.

    Args:
      acceptances: a_t along each text, from the first position where a block may begin; each of
        shape (N,).
      times: number of repeats of each text. Greedy decoding repeats the same blocks, so all repeats
        of a text share one simulated run.
      gamma: drafted tokens per block, at least 1.
      drafts_past_end: whether blocks draft γ tokens even at a text's end. Acceptance beyond the end
        is unknown; the text's mean is used.
      resample: whether to predict similar texts, rather than exactly the given ones.
    """
    count, texts = max(REPLICATES, -(-DRAWS // len(acceptances))), len(acceptances)
    runs = np.stack(
        [_chains(chances, gamma, drafts_past_end, generator, count) for chances in acceptances]
    )
    drawn = np.zeros((DRAWS, gamma + 1))
    for number, written in enumerate(times):
        text = generator.integers(0, texts, DRAWS) if resample else number
        drawn += written * runs[text, generator.integers(0, count, DRAWS)]
    blocks = np.maximum(drawn[:, -1], 1)
    rates = drawn[:, :-1] / blocks[:, np.newaxis]
    means, (low, high) = rates.mean(axis=0), np.quantile(rates, ENDS, axis=0)
    tipped = TIPPED_BLOCKS * max(times) / blocks.mean()
    least, most = rates.min(axis=0), rates.max(axis=0)
    limits = np.stack([np.minimum(least, means - tipped), np.maximum(most, means + tipped)], axis=1)
    return Predicted(
        tuple(RateInterval(*row) for row in np.stack([means, low, high], axis=1).tolist()),
        tuple((low, high) for low, high in limits.tolist()),
    )


def simulated(rates: Sequence[float], *, drafts: int) -> Predicted:
    """Returns the prediction for a server that simulates these unconditional rates.

    drafts: number of blocks that the server counts.
    """
    from scipy.stats import binom

    intervals, limits = [], []
    for rate in rates:
        reach = deviations() * math.sqrt(rate * (1 - rate) / drafts)
        intervals.append(RateInterval(rate, max(0.0, rate - reach), min(1.0, rate + reach)))
        ends = (end(FALSE_ALARM / 2, drafts, rate) for end in (binom.ppf, binom.isf))
        least, most = (float(hits) / drafts for hits in ends)
        limits.append((least, most))
    return Predicted(tuple(intervals), tuple(limits))


def _chains(
    chances: NDArray[np.float64],
    gamma: int,
    drafts_past_end: bool,
    generator: np.random.Generator,
    replicates: int,
) -> NDArray[np.float64]:
    """Returns the counts of simulated runs along a text, shape (replicates, gamma + 1).

    A run's counts are the blocks that accepted each position, then all blocks that drafted.
    chances: acceptance probability at each token of the text, shape (N,).
    """
    length, offsets = len(chances), np.arange(gamma)
    beyond = float(chances.mean()) if drafts_past_end else 0.0
    extended = np.concatenate([chances, np.full(gamma, beyond)])
    at, counts = np.zeros(replicates, dtype=np.int64), np.zeros((replicates, gamma + 1))
    while (running := at < length).any():
        rows = np.minimum(at, length - 1)
        left = length - 1 - rows
        room = np.full(replicates, gamma) if drafts_past_end else np.minimum(gamma, left)
        hits = generator.random((replicates, gamma)) < extended[rows[:, np.newaxis] + offsets]
        hits &= offsets < room[:, np.newaxis]
        hits = np.logical_and.accumulate(hits, axis=1) & running[:, np.newaxis]
        counts[:, :-1] += hits
        counts[:, -1] += running & (room > 0)
        at += np.where(running, hits.sum(axis=1) + 1, 0)
    return counts


def audit(
    predicted: Predicted, counts: Counts, *, text_gap: str | None = None
) -> tuple[tuple[RateInterval, ...], str]:
    """Returns an engine's counted rates by position, and how they contradict the prediction.

    The second result is "" if nothing contradicts it. text_gap: how the engine's texts differ from
    the target's; None: they do not differ.
    """
    hits = counts.up_to(len(predicted.rates))
    counted = tuple(rate_interval(each, counts.drafts) for each in hits)
    sentences = []
    rows = zip(counted, predicted.rates, predicted.limits, strict=True)
    for position, (found, allowed, (least, most)) in enumerate(rows, start=1):
        if not least <= found.value <= most:
            sentences.append(
                f"this engine accepts {found} at position {position} where its models allow "
                f"{allowed}: its drafts or its verification are not what it says"
            )
            break
    if text_gap is not None:
        sentences.append(f"its texts are not the target's: {text_gap}")
    return counted, "; ".join(sentences)
