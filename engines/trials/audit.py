"""The acceptance audit: compares an engine's counts with the acceptance of two models' laws.

Along a text that the target wrote, Algorithm 1 accepts each drafted position t with a probability
a_t, so that the number of blocks whose first, second, … token is accepted is a sum of independent
draws along a chain of blocks. `predict` draws that chain many times; the engine's counts must lie
among the draws. For an engine that obeys the laws, the counts are one draw more. They lie beyond
all DRAWS others, on either side, in 2 of DRAWS + 1 cases (a Monte Carlo test; Dwass 1957), for any
number of blocks.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engines.counting import DEVIATIONS, Counts, RateInterval, rate_interval

DRAWS = 19_999
# False alarms, of rates.
FALSE_ALARM = 2 / (DRAWS + 1)
# Least number of runs through each text; draws combine runs of different texts.
REPLICATES = 1000
# Blocks that a near tie may move where rounding tips it: its own, and a few until both texts meet.
TIPPED_BLOCKS = 4


@dataclass(frozen=True, slots=True)
class Predicted:
    """Acceptance by position over drawn runs of the same texts.

    rates: unconditional, by position: the mean over draws, and where 95 % of them lie.
    limits: the least and the largest rate that is not named, by position.
    """

    rates: tuple[RateInterval, ...]
    limits: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Audit:
    """Predicted and counted acceptance, by position.

    explained: whether the laws explain the counts, and the texts are the target's.
    sentence: the reason if they do not explain the counts; else empty.
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
    """Returns how often each drafted position would be accepted.

    Args:
      acceptances: a_t along each text, from the first position that a block may begin at; shapes
        (N,).
      times: how often each was written by the same blocks, those past its end included: greedy
        decoding repeats itself, so that what it accepts there is drawn once.
      gamma: drafted tokens, at least 1.
      drafts_past_end: whether blocks draft γ tokens to the last; what is beyond a text's end is not
        seen, and taken as accepted as often as the text's mean position.
      resample: whether other texts of the kind are meant, and not these.
      generator: draws.
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
    low, high = np.percentile(rates, [2.5, 97.5], axis=0)
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
    """Returns the counts expected of a server that simulates these unconditional rates."""
    from scipy.stats import binom

    spread = [math.sqrt(rate * (1 - rate) / drafts) for rate in rates]
    limits = [
        (binom.ppf(FALSE_ALARM / 2, drafts, rate), binom.isf(FALSE_ALARM / 2, drafts, rate))
        for rate in rates
    ]
    return Predicted(
        tuple(
            RateInterval(rate, max(0.0, rate - DEVIATIONS * s), min(1.0, rate + DEVIATIONS * s))
            for rate, s in zip(rates, spread, strict=True)
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
    """Returns blocks accepted up to each position, a row for each run, and the drafts of each."""
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
        stands = generator.random((replicates, gamma)) < extended[rows[:, np.newaxis] + offsets]
        stands &= offsets < np.reshape(room, (-1, 1))
        stands = np.logical_and.accumulate(stands, axis=1) & running[:, np.newaxis]
        accepted += stands
        drafts += running & (np.reshape(room, -1) > 0)
        at = at + np.where(running, stands.sum(axis=1) + 1, 0)
    return accepted, drafts


def audit(predicted: Predicted, counts: Counts, *, text_gap: str | None = None) -> Audit:
    """Returns whether an engine accepted what its models' laws allow."""
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
