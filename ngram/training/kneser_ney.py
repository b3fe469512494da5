"""Interpolated modified Kneser-Ney smoothing (Chen and Goodman 1999), like KenLM's `lmplz`.

    p(w | h) = (a(hw) - D(a(hw))) / a(h) + γ(h) p(w | h'),
    γ(h) = (Σ_w D(a(hw)) + what pruning removed) / a(h),   a(h) = Σ_w a(hw)

where a is the adjusted count and h' the context without its first word. The order below the first
is uniform over all words except `<s>`, which gets 0.
"""

import numpy as np
from numpy.typing import NDArray

from ngram.training.counts import NgramCounts
from ngram.training.estimate import Bools, Discounts, Floats, Words

FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)


def closed_form_discounts(tallied: NDArray[np.int64]) -> tuple[float, float, float] | None:
    """Returns the discounts of counts 1, 2 and 3 or more; None if they are undefined.

        D_j = j - (j+1) Y n_{j+1} / n_j,   Y = n_1 / (n_1 + 2 n_2)

    where n_j is the number of n-grams with adjusted count j (Chen and Goodman 1999, equation 26).
    """
    n = np.bincount(np.minimum(tallied, 5), minlength=6).astype(float)
    if (n[1:4] == 0).any():
        return None
    y = n[1] / (n[1] + 2 * n[2])
    one, two, three = (float(j - (j + 1) * y * n[j + 1] / n[j]) for j in (1, 2, 3))
    if not (0 <= one <= 1 and 0 <= two <= 2 and 0 <= three <= 3):
        return None
    return one, two, three


class KneserNey:
    """Discounts adjusted counts, and always interpolates with the shorter context."""

    fallback: Discounts = FALLBACK_DISCOUNTS

    def discounts(self, table: NgramCounts) -> Discounts | None:
        return closed_form_discounts(table.tallied)

    def first_order(
        self, table: NgramCounts, keep: Bools, vocabulary: Words, discounts: Discounts
    ) -> Floats:
        own, gamma = _discounted(table, keep, discounts, contexts=1)
        return own + gamma / (np.count_nonzero(keep) - 1)

    def higher_order(
        self, table: NgramCounts, keep: Bools, lower: Floats, discounts: Discounts
    ) -> tuple[Floats, Floats]:
        own, gamma = _discounted(table, keep, discounts, contexts=len(lower))
        return own + gamma[table.context] * lower[table.suffix], gamma


def _discounted(
    table: NgramCounts, keep: Bools, discounts: Discounts, *, contexts: int
) -> tuple[Floats, Floats]:
    """Returns each n-gram's share, (a - D(a)) / a(h), and each context's weight γ(h)."""
    adjusted = table.adjusted
    off = np.array([0.0, *discounts])[np.minimum(adjusted, 3)]
    freed = np.where(keep, off, adjusted)
    total = np.bincount(table.context, weights=adjusted, minlength=contexts)
    weight = np.bincount(table.context, weights=freed, minlength=contexts)
    gamma = np.divide(weight, total, out=np.ones(contexts), where=total > 0)
    return (adjusted - off) / total[table.context], gamma
