"""The acceptance audit: compares an engine's counts with the acceptance that its models allow.

Along a text of the target, a drafted token is accepted with probability a_t (`text_scores`).
`predict` draws the chain of blocks along each text many times. The counts of a correct engine are
one more such draw. So they are below or above all DRAWS others in only 2 of DRAWS + 1 cases, for
any number of blocks (a Monte Carlo test; Dwass 1957).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom, t

from engines.counting import Counts, RateInterval, rate_interval
from engines.text_scores import TextScores
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
    limits: smallest and largest counted rate that the audit accepts, by position.
    """

    rates: tuple[RateInterval, ...]
    limits: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, *columns: ArrayLike) -> Predicted:
        """Returns a prediction from arrays: rates, both ends of their intervals, both limits."""
        rows = np.stack(columns, axis=1).tolist()
        return cls(
            tuple(RateInterval(*row[:3]) for row in rows), tuple((row[3], row[4]) for row in rows)
        )


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
      times: how often the engine wrote each text. All repeats of a text share one simulated run,
        because greedy decoding repeats the same blocks.
      gamma: drafted tokens per block, at least 1.
      drafts_past_end: whether blocks draft γ tokens even at a text's end. Tokens past the end are
        accepted with the mean of the text's a_t.
      resample: whether the engine's texts are similar to the given texts (drawn with replacement)
        instead of equal to them.
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
    least = np.minimum(rates.min(axis=0), means - tipped)
    most = np.maximum(rates.max(axis=0), means + tipped)
    return Predicted.of(means, low, high, least, most)


def simulated(rates: Sequence[float], *, drafts: int) -> Predicted:
    """Returns the prediction for `drafts` blocks of a server that accepts at random at set rates.

    rates: for each position, the share of blocks that accept it and all positions before it.
    """
    means = np.array(rates, dtype=np.float64)
    reach = deviations() * np.sqrt(means * (1 - means) / drafts)
    least, most = (end(FALSE_ALARM / 2, drafts, means) / drafts for end in (binom.ppf, binom.isf))
    return Predicted.of(
        means, np.maximum(0.0, means - reach), np.minimum(1.0, means + reach), least, most
    )


def _chains(
    chances: NDArray[np.float64],
    gamma: int,
    drafts_past_end: bool,
    generator: np.random.Generator,
    replicates: int,
) -> NDArray[np.float64]:
    """Returns the counts of simulated runs along a text, shape (replicates, gamma + 1).

    Columns: number of blocks that accepted position 1, …, γ; then number of blocks that drafted.
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
    """Returns counted rates by position, and why the prediction excludes them ("" if it does not).

    text_gap: how the engine's texts differ from the target's; None if they do not.
    """
    hits = counts.up_to(len(predicted.rates))
    counted = tuple(rate_interval(hit, counts.drafts) for hit in hits)
    sentences = []
    rows = zip(counted, predicted.rates, predicted.limits, strict=True)
    for position, (observed, allowed, (least, most)) in enumerate(rows, start=1):
        if not least <= observed.value <= most:
            sentences.append(
                f"this engine accepts {observed} at position {position} where its models allow "
                f"{allowed}: its drafts or its verification are not what it says"
            )
            break
    if text_gap is not None:
        sentences.append(f"its texts are not the target's: {text_gap}")
    return counted, "; ".join(sentences)


# Ids of a text, and the target's scores of them.
IdScores = tuple[Sequence[int], TextScores]
# Difference of logits that rounding may reverse: two steps of bfloat16 near 50.
NEAR_TIE = 0.5


def text_gap(
    drafted: Sequence[Sequence[TextScores]], baseline: Sequence[Sequence[TextScores]]
) -> str | None:
    """Returns how an engine's sampled texts differ from the target's own; None if they do not.

    A paired t-test over prompts, at a false-alarm rate of FALSE_ALARM, compares the target's mean
    log-probability of a token in both sets of texts.

    drafted, baseline: the target's scores of texts decoded with and without speculation, by repeat
      and prompt.
    """
    # By prompt: the mean over repeats of a text's mean.
    means = [
        np.mean([[text.logprobs.mean() for text in texts] for texts in runs], axis=0)
        for runs in (drafted, baseline)
    ]
    differences = means[0] - means[1]
    if len(differences) < 2:
        return None
    error = differences.std(ddof=1) / math.sqrt(len(differences))
    if abs(differences.mean()) <= t.isf(FALSE_ALARM / 2, len(differences) - 1) * error:
        return None
    return (
        f"the target gives their tokens a mean log-probability of {means[0].mean():.2f}, its own "
        f"{means[1].mean():.2f}"
    )


def greedy_text_gap(drafted: Sequence[IdScores], baseline: Sequence[IdScores]) -> str | None:
    """Returns how an engine's greedy texts differ from the target's; None if only at near ties.

    Both texts are equal up to the first different id. So the target's log-probabilities of the two
    ids have the same difference as its logits, and a difference up to NEAR_TIE is a near tie.

    drafted, baseline: texts decoded with and without speculation, in the same order.
    """
    gaps = []
    for (ids, scores), (others, targets) in zip(drafted, baseline, strict=True):
        parted = np.flatnonzero(np.not_equal(ids, others))[:1]
        gaps.append(float((targets.logprobs - scores.logprobs)[parted].sum()))  # 0 if texts agree
    wrong = sum(gap > NEAR_TIE for gap in gaps)
    if wrong == 0:
        return None
    return (
        f"{wrong} of {len(gaps)} part from the target's own at an id that is no near "
        f"tie, {max(gaps):.2g} below its likeliest in logits"
    )
