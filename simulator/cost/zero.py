"""A server that speculates and drafts nothing, against one that was started without a draft.

The first is slower: the draft's state is still kept and synchronised. A schedule that ends in K = 0
pays the time of the first; a server without speculation has the time of the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import log


@dataclass(frozen=True, slots=True)
class SpeculatingZero:
    """Time of a step that drafts nothing, on a server that speculates / on one that does not.

    ratio: the most probable value, above 0.
    low, high: interval of a measured ratio; else the smallest and the largest reported one.
    source: where the ratio is from, in words.
    """

    ratio: float
    low: float
    high: float
    source: str


@dataclass(frozen=True, slots=True)
class ReportedZero:
    """Public reports of an engine's `SpeculatingZero`.

    ratios: reported ratio by batch size, ascending.
    low, high: the smallest and the largest ratio of all reports.
    source: the reports.
    """

    ratios: tuple[tuple[int, float], ...]
    low: float
    high: float
    source: str

    def at(self, batch: int) -> SpeculatingZero:
        """Returns the ratio at a batch size, linear in the logarithm of the batch in between."""
        ratio = self.ratios[0 if batch < self.ratios[0][0] else -1][1]
        for (first, low), (last, high) in pairwise(self.ratios):
            if first <= batch <= last:
                ratio = low + (high - low) * log(batch / first) / log(last / first)
        return SpeculatingZero(ratio, min(self.low, ratio), max(self.high, ratio), self.source)
