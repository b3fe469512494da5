"""The acceptance audit: what two models' laws allow under an engine's way of drafting, and counts.

Along a text that the target wrote, Algorithm 1 accepts drafted positions by chances a_t of their
own, so that the number of blocks whose first, second, … token is accepted is a sum of independent
draws along a chain of blocks. `predict` draws that chain many times; what the engine counted must
lie among them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engines.counting.counts import Counts
from engines.counting.rates import DEVIATIONS, Rate, rate_interval

REPLICATES = 1000
# Two-sided, normal: 6 false alarms in 100 000 rates.
FALSE_ALARM_DEVIATIONS = 4.0


@dataclass(frozen=True, slots=True)
class Predicted:
    """Acceptance by position over drawn runs of the same texts.

    rates: unconditional, by position: the mean over draws, and where 95 % of them lie.
    deviations: of the draws, by position; not below what one block in all makes, since rounding
      may tip a near tie.
    """

    rates: tuple[Rate, ...]
    deviations: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Audit:
    """Predicted beside counted acceptance, by position.

    explained: whether the laws explain the counts, and the texts are the target's.
    sentence: where they do not, what is wrong; else empty.
    """

    predicted: tuple[Rate, ...]
    counted: tuple[Rate, ...]
    explained: bool
    sentence: str


def predict(
    acceptances: Sequence[NDArray[np.float64]],
    *,
    gamma: int,
    drafts_past_end: bool,
    resample: bool,
    generator: np.random.Generator,
) -> Predicted:
    """Returns how often each drafted position would be accepted.

    Args:
      acceptances: a_t along each text, from the first position that a block may begin at; shapes
        (N,).
      gamma: drafted tokens, at least 1.
      drafts_past_end: whether blocks draft γ tokens to the last; what is beyond a text's end is not
        seen, and taken as accepted as often as the text's mean position.
      resample: whether other texts of the kind are meant, and not these.
      generator: draws.
    """
    accepted = np.zeros((REPLICATES, len(acceptances), gamma))
    drafts = np.zeros((REPLICATES, len(acceptances)))
    for number, chances in enumerate(acceptances):
        accepted[:, number], drafts[:, number] = _chains(
            chances, gamma, drafts_past_end, generator
        )
    if resample:
        chosen = generator.integers(0, len(acceptances), drafts.shape)
        accepted = np.take_along_axis(accepted, chosen[:, :, np.newaxis], axis=1)
        drafts = np.take_along_axis(drafts, chosen, axis=1)
    blocks = np.maximum(drafts.sum(axis=1), 1)
    rates = accepted.sum(axis=1) / blocks[:, np.newaxis]
    low, high = np.percentile(rates, [2.5, 97.5], axis=0)
    means = rates.mean(axis=0)
    floor = 1 / float(blocks.mean())
    return Predicted(
        tuple(Rate(*map(float, row)) for row in zip(means, low, high, strict=True)),
        tuple(float(max(deviation, floor)) for deviation in rates.std(axis=0)),
    )


def feigned(rates: Sequence[float], *, drafts: int) -> Predicted:
    """Returns what a verifier that feigns these unconditional rates would count of its drafts."""
    spread = [math.sqrt(rate * (1 - rate) / drafts) for rate in rates]
    return Predicted(
        tuple(
            Rate(rate, max(0.0, rate - DEVIATIONS * s), min(1.0, rate + DEVIATIONS * s))
            for rate, s in zip(rates, spread, strict=True)
        ),
        tuple(max(s, 1 / drafts) for s in spread),
    )


def _chains(
    chances: NDArray[np.float64],
    gamma: int,
    drafts_past_end: bool,
    generator: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns blocks accepted up to each position, (REPLICATES, gamma), and drafts, (REPLICATES,).

    Each row is one run through a text.
    """
    length = len(chances)
    beyond = float(chances.mean()) if drafts_past_end else 0.0
    extended = np.concatenate([chances, np.full(gamma, beyond)])
    at = np.zeros(REPLICATES, dtype=np.int64)
    accepted = np.zeros((REPLICATES, gamma))
    drafts = np.zeros(REPLICATES)
    offsets = np.arange(gamma)
    while (running := at < length).any():
        rows = np.minimum(at, length - 1)
        room = gamma if drafts_past_end else np.minimum(gamma, length - 1 - rows)
        stands = generator.random((REPLICATES, gamma)) < extended[rows[:, np.newaxis] + offsets]
        stands &= offsets < np.reshape(room, (-1, 1))
        stands = np.logical_and.accumulate(stands, axis=1) & running[:, np.newaxis]
        accepted += stands
        drafts += running & (np.reshape(room, -1) > 0)
        at = at + np.where(running, stands.sum(axis=1) + 1, 0)
    return accepted, drafts


def audit(predicted: Predicted, counts: Counts, *, text_gap: str | None = None) -> Audit:
    """Returns whether an engine accepted what its models' laws allow.

    Args:
      predicted: under the engine's stated way of drafting.
      counts: the engine's own, of the same runs.
      text_gap: how the engine's texts differ from the target's, where they do.
    """
    gamma = len(predicted.rates)
    hits = (*counts.accepted, *([0] * gamma))[:gamma]
    counted = tuple(rate_interval(hit, counts.drafts) for hit in hits)
    off = [
        abs(found.value - rate.value) > FALSE_ALARM_DEVIATIONS * deviation
        for found, rate, deviation in zip(
            counted, predicted.rates, predicted.deviations, strict=True
        )
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
