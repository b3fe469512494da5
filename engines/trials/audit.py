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

    rates: unconditional rates: mean over draws, and their interval.
    limits: smallest and largest rate that the audit does not report.
    """

    rates: tuple[RateInterval, ...]
    limits: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Audit:
    """Predicted and counted acceptance, by position.

    explained: whether the models explain the counts, and the texts are the target's.
    sentence: the reason if not; else empty.
    """

    predicted: tuple[RateInterval, ...]
    counted: tuple[RateInterval, ...]
    explained: bool
    sentence: str


def predict(
    acceptances: Sequence[NDArray[np.float64]],
    *,
    times: Sequence[int],
    gamma: int,
    drafts_past_end: bool,
    resample: bool,
    generator: np.random.Generator,
) -> Predicted:
    """Returns the acceptance rate of each drafted position, with its limits.

    Args:
      acceptances: a_t along each text, from the first position where a block may begin; each of
        shape (N,).
      times: number of repeats of each text. Greedy decoding repeats the same blocks, so all repeats
        of a text share one simulated run.
      gamma: drafted tokens per block, at least 1.
      drafts_past_end: whether blocks draft γ tokens even at a text's end. Acceptance beyond the end
        is unknown; the text's mean is used.
      resample: whether to predict other texts of this kind, not exactly these.
    """
    replicates = max(REPLICATES, -(-DRAWS // len(acceptances)))
    runs = [
        _chains(chances, gamma, drafts_past_end, generator, replicates) for chances in acceptances
    ]
    accepted_once, drafts_once = (np.stack(each) for each in zip(*runs, strict=True))
    accepted, drafts = np.zeros((DRAWS, gamma)), np.zeros(DRAWS)
    for number, written in enumerate(times):
        text = generator.integers(0, len(runs), DRAWS) if resample else number
        run = generator.integers(0, replicates, DRAWS)
        accepted += written * accepted_once[text, run]
        drafts += written * drafts_once[text, run]
    blocks = np.maximum(drafts, 1)
    rates = accepted / blocks[:, np.newaxis]
    low, high = np.quantile(rates, ENDS, axis=0)
    means = rates.mean(axis=0)
    tipped = TIPPED_BLOCKS * max(times) / blocks.mean()
    limits = (
        np.minimum(rates.min(axis=0), means - tipped),
        np.maximum(rates.max(axis=0), means + tipped),
    )
    return Predicted(
        tuple(RateInterval(*map(float, row)) for row in zip(means, low, high, strict=True)),
        tuple((float(least), float(most)) for least, most in zip(*limits, strict=True)),
    )


def simulated(rates: Sequence[float], *, drafts: int) -> Predicted:
    """Returns the prediction for a server that simulates these unconditional rates.

    drafts: number of blocks that the server counts.
    """
    from scipy.stats import binom

    spread = [deviations() * math.sqrt(rate * (1 - rate) / drafts) for rate in rates]
    limits = [
        (binom.ppf(FALSE_ALARM / 2, drafts, rate), binom.isf(FALSE_ALARM / 2, drafts, rate))
        for rate in rates
    ]
    return Predicted(
        tuple(
            RateInterval(rate, max(0.0, rate - reach), min(1.0, rate + reach))
            for rate, reach in zip(rates, spread, strict=True)
        ),
        tuple((float(least) / drafts, float(most) / drafts) for least, most in limits),
    )


def _chains(
    chances: NDArray[np.float64],
    gamma: int,
    drafts_past_end: bool,
    generator: np.random.Generator,
    replicates: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns simulated runs along a text with acceptances `chances`, shape (N,).

    Returns:
      blocks accepted up to each position, shape (replicates, gamma), and blocks that drafted, shape
      (replicates,).
    """
    length = len(chances)
    beyond = float(chances.mean()) if drafts_past_end else 0.0
    extended = np.concatenate([chances, np.full(gamma, beyond)])
    at = np.zeros(replicates, dtype=np.int64)
    accepted = np.zeros((replicates, gamma))
    drafts = np.zeros(replicates)
    offsets = np.arange(gamma)
    while (running := at < length).any():
        rows = np.minimum(at, length - 1)
        room = gamma if drafts_past_end else np.minimum(gamma, length - 1 - rows)
        hits = generator.random((replicates, gamma)) < extended[rows[:, np.newaxis] + offsets]
        hits &= offsets < np.reshape(room, (-1, 1))
        hits = np.logical_and.accumulate(hits, axis=1) & running[:, np.newaxis]
        accepted += hits
        drafts += running & (np.reshape(room, -1) > 0)
        at = at + np.where(running, hits.sum(axis=1) + 1, 0)
    return accepted, drafts


def audit(predicted: Predicted, counts: Counts, *, text_gap: str | None = None) -> Audit:
    """Returns the comparison of an engine's counts with the prediction.

    text_gap: how the engine's texts differ from the target's; None: they do not.
    """
    gamma = len(predicted.rates)
    counted = tuple(rate_interval(hits, counts.drafts) for hits in counts.up_to(gamma))
    off = [
        not least <= found.value <= most
        for found, (least, most) in zip(counted, predicted.limits, strict=True)
    ]
    sentences = []
    if any(off):
        first = off.index(True)
        found, allowed = counted[first], predicted.rates[first]
        sentences.append(
            f"this engine accepts {found} at position {first + 1} where its models allow "
            f"{allowed}: its drafts or its verification are not what it says"
        )
    if text_gap is not None:
        sentences.append(f"its texts are not the target's: {text_gap}")
    return Audit(predicted.rates, counted, not sentences, "; ".join(sentences))
