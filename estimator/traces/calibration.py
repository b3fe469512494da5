"""Calibrated confidence: how often a draft is right that says 0.8, perhaps in 70 of 100 cases.

The map from stated confidence to the share of right tokens is fitted by isotonic regression
(Zadrozny and Elkan 2002), each half of the texts by the other half.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimator.traces.traces import Trace

# Bins of stated confidence in `reliability`.
BINS = 10


class Calibration(NamedTuple):
    """Shares of right tokens by stated confidence, linear in between.

    said, right: both in [0, 1] and ascending, shape (n,).

    Example:
      >>> Calibration(np.array([0.2, 0.8]), np.array([0.1, 0.7])).of(np.array([0.8, 0.5]))
      array([0.7, 0.4])
    """

    said: NDArray[np.float64]
    right: NDArray[np.float64]

    @classmethod
    def fitted(cls, traces: Sequence[Trace], column: int) -> "Calibration":
        """Returns the calibration of one column of recorded confidences, of at least one text."""
        from scipy.optimize import isotonic_regression

        said, right, weight = _tokens(traces, column)
        order = np.argsort(said, kind="stable")
        found = isotonic_regression(right[order], weights=weight[order])
        first = found.blocks[:-1]
        weights = np.add.reduceat(weight[order], first)
        means = np.add.reduceat((weight * said)[order], first) / weights
        return cls(means, np.clip(found.x[first], 0.0, 1.0))

    def of(self, confidence: NDArray[np.floating]) -> NDArray[np.float64]:
        """Returns the shares of right tokens at stated confidences of any shape."""
        return np.asarray(np.interp(confidence, self.said, self.right))


def calibrated(traces: Sequence[Trace], column: int) -> list[Trace]:
    """Returns texts, at even and at odd places calibrated by the others; a single one unchanged."""
    halves = [Calibration.fitted(traces[at::2], column) for at in (0, 1) if traces[at::2]]
    if len(halves) < 2:
        return list(traces)
    return [_under(trace, halves[1 - place % 2], column) for place, trace in enumerate(traces)]


def _under(trace: Trace, calibration: Calibration, column: int) -> Trace:
    assert trace.confidence is not None
    changed = {}
    for name in ("along", "own"):
        values = getattr(trace.confidence, name).astype(np.float64)
        values[..., column] = calibration.of(values[..., column])
        changed[name] = values
    return replace(trace, confidence=trace.confidence._replace(**changed))


def reliability(traces: Sequence[Trace], column: int) -> list[dict[str, float]]:
    """Returns how often drafts are right, by tenths of the confidence that they state.

    A row has means of stated (`said`) and calibrated confidence, the share of `right` tokens, and
    the number of `tokens`.
    """
    said, right, weight = _tokens(traces, column)
    mended = _tokens(calibrated(traces, column), column)[0]
    bins = np.minimum((said * BINS).astype(np.int64), BINS - 1)
    totals = np.bincount(bins, weight, minlength=BINS)
    names = {"said": said, "right": right, "calibrated": mended}
    sums = {name: np.bincount(bins, weight * each) for name, each in names.items()}
    return [
        {**{name: float(sums[name][at] / totals[at]) for name in sums}, "tokens": float(totals[at])}
        for at in np.flatnonzero(totals)
    ]


def _tokens(traces: Sequence[Trace], column: int) -> list[NDArray[np.float64]]:
    """Returns stated confidence, acceptance and weight of the tokens that blocks can reach.

    By block, a token counts as often as its predecessors in the block are accepted.
    """
    found = []
    for trace in traces:
        if trace.confidence is None:
            raise ValueError("a calibration needs traces with the draft's confidence, got none")
        right = trace.acceptance
        weight = np.ones_like(right)
        if right.ndim == 2:
            weight[:, 1:] = np.cumprod(right, axis=1)[:, :-1]
            weight *= np.arange(right.shape[1]) < np.arange(len(right), 0, -1)[:, None]
        known = weight > 0
        said = trace.confidence.along[..., column].astype(np.float64)
        found.append((said[known], right[known], weight[known]))
    return [np.concatenate(each) for each in zip(*found, strict=True)]
