"""Interpolated modified Kneser-Ney smoothing (Chen and Goodman 1999), as KenLM's `lmplz` has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngram.rows.grams import Grams
from ngram.rows.words import BEGIN
from ngram.training.counts import CorpusCounts, Counts

FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)
# What stands for log10(0), as in SRILM's files: KenLM refuses infinite weights.
LOG10_ZERO = -99.0

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A smoothed model.

    grams: what it keeps of each order, from 1 up.
    discounts: by order: of counts 1, 2 and 3 or more; of Katz's, what is left of counts 1 to 5.
    fallback_orders: where the corpus was too thin to estimate them.
    """

    grams: tuple[Grams, ...]
    discounts: tuple[tuple[float, ...], ...]
    fallback_orders: tuple[int, ...]


def closed_form_discounts(tallied: NDArray[np.int64]) -> tuple[float, float, float] | None:
    """Returns the discounts of counts 1, 2 and 3 or more, or None where they are undefined.

        D_j = j - (j+1) Y n_{j+1} / n_j,   Y = n_1 / (n_1 + 2 n_2)

    with n_j the number of n-grams of adjusted count j (Chen and Goodman 1999, equation 26).

    Args:
      tallied: adjusted counts, shape (n,).
    """
    n = np.bincount(np.minimum(tallied, 5), minlength=6).astype(float)
    if (n[1:4] == 0).any():
        return None
    y = n[1] / (n[1] + 2 * n[2])
    one, two, three = (float(j - (j + 1) * y * n[j + 1] / n[j]) for j in (1, 2, 3))
    if not (0 <= one <= 1 and 0 <= two <= 2 and 0 <= three <= 3):
        return None
    return one, two, three


def prune_thresholds(prune: Sequence[int], order: int) -> tuple[int, ...]:
    """Returns the threshold of each order: the last one given holds for the orders above.

    Raises:
      ValueError: if there are more than orders, one is negative, or they decrease.
    """
    if len(prune) > order:
        raise ValueError(f"prune must have at most {order} counts, one an order, got {len(prune)}")
    if any(count < 0 for count in prune):
        raise ValueError(f"prune counts must be at least 0, got {min(prune)}")
    if list(prune) != sorted(prune):
        raise ValueError(f"prune counts must not decrease with the order, got {list(prune)}")
    last = prune[-1] if prune else 0
    return (*prune, *[last] * (order - len(prune)))


def estimate(counts: CorpusCounts, *, prune: Sequence[int] = ()) -> Estimate:
    """Returns the smoothed model of a corpus.

        p(w | h) = (a(hw) - D(a(hw))) / a(h) + γ(h) p(w | h'),
        γ(h) = (Σ_w D(a(hw)) + what pruning took) / a(h),   a(h) = Σ_w a(hw)

    with a the adjusted count and h' the context without its first word; the order below the first
    is uniform over all words but `<s>`, to which nothing is given.

    Args:
      counts: of the corpus.
      prune: n-grams that occur so often or less are dropped, by order; none by default. The
        discounts are those of the whole. `<unk>`, `<s>` and `</s>` stay.

    Raises:
      ValueError: as `prune_thresholds`.
    """
    thresholds = prune_thresholds(prune, len(counts.orders))
    vocabulary = counts.vocabulary
    words = vocabulary[:, None]
    kept_words: list[NDArray[np.int32]] = []
    probabilities: list[Floats] = []
    backoffs: list[Floats] = []
    discounts = []
    fallback_orders = []
    keep = np.zeros(0, bool)
    lower = np.zeros(0)
    for order, table in enumerate(counts.orders, start=1):
        discount = closed_form_discounts(table.tallied)
        if discount is None:
            discount = FALLBACK_DISCOUNTS
            fallback_orders.append(order)
        discounts.append(discount)
        kept_below, keep = keep, table.raw > thresholds[order - 1]
        if order == 1:
            keep |= vocabulary < 0
            own, gamma = _discounted(table, keep, discount=discount, contexts=1)
            lower = own + gamma / (np.count_nonzero(keep) - 1)
            lower[vocabulary == BEGIN] = 1.0
        else:
            own, gamma = _discounted(table, keep, discount=discount, contexts=len(lower))
            lower = own + gamma[table.context] * lower[table.suffix]
            backoffs.append(gamma[kept_below])
            words = np.column_stack([words[table.context], vocabulary[table.word]])
        kept_words.append(words[keep])
        probabilities.append(lower[keep])

    grams = [
        Grams(of_order, _log10(probability), None if backoff is None else _log10(backoff))
        for of_order, probability, backoff in zip(
            kept_words, probabilities, [*backoffs, None], strict=True
        )
    ]
    return Estimate(tuple(grams), tuple(discounts), tuple(fallback_orders))


def _discounted(
    table: Counts, keep: NDArray[np.bool_], *, discount: tuple[float, float, float], contexts: int
) -> tuple[Floats, Floats]:
    """Returns each n-gram's own share, (a - D(a)) / a(h), and each context's weight γ(h).

    A context without continuation has weight 1.
    """
    adjusted = table.adjusted
    off = np.array([0.0, *discount])[np.minimum(adjusted, 3)]
    freed = np.where(keep, off, adjusted)
    total = np.bincount(table.context, weights=adjusted, minlength=contexts)
    weight = np.bincount(table.context, weights=freed, minlength=contexts)
    gamma = np.divide(weight, total, out=np.ones(contexts), where=total > 0)
    return (adjusted - off) / total[table.context], gamma


def _log10(values: Floats) -> Floats:
    """Returns log10 of probabilities or weights, LOG10_ZERO for 0."""
    with np.errstate(divide="ignore"):
        return np.clip(np.log10(values), LOG10_ZERO, 0.0)
