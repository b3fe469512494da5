"""A server that speculates and drafts nothing, against one that was started without a draft.

The first is slower: the draft's state is still kept and synchronised. A schedule that ends in K = 0
pays the time of the first; a server without speculation has the time of the second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.cost.fitted.runs import Run, pooled
from simulator.numerics.intervals import deviations


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
        batches, ratios = np.array(self.ratios).T
        ratio = float(np.interp(np.log(batch), np.log(batches), ratios))
        return SpeculatingZero(ratio, min(self.low, ratio), max(self.high, ratio), self.source)


def measured_zero(runs: Sequence[Run], batch: int) -> SpeculatingZero | None:
    """Returns the ratio of two runs without drafts, at the measured batch size nearest to `batch`.

    None if no load was run with K = 0 on both kinds of server.
    """
    found = {}
    means = {(run.load, run.speculating): run for run in pooled(runs) if run.gamma == 0}
    for (load, speculating), run in means.items():
        plain = means.get((load, False))
        if speculating and plain is not None:
            found[load.batch] = (run, plain)
    if not found:
        return None
    nearest = min(found, key=lambda each: abs(math.log(each / batch)))
    run, plain = found[nearest]
    log = math.log(run.seconds_per_token / plain.seconds_per_token)
    reach = deviations() * math.hypot(run.error, plain.error)
    low, high = math.exp(log - reach), math.exp(log + reach)
    return SpeculatingZero(math.exp(log), low, high, f"your runs at batch {nearest}")
