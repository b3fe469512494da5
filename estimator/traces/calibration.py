"""Calibrated confidence: the share of right tokens among those with a given confidence.

The map from confidence to that share is fitted by isotonic regression (Zadrozny and Elkan 2002).
Each half of the texts is calibrated by the other half.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from estimator.traces.traces import Trace

# Bins of stated confidence in `reliability`.
BINS = 10


class Calibration(NamedTuple):
    """The share of right tokens by confidence, linear between points.

    said, right: confidences and shares of right tokens, in [0, 1] and ascending, shape (n,).

    Example:
      >>> Calibration(np.array([0.2, 0.8]), np.array([0.1, 0.7])).of(np.array([0.8, 0.5]))
      array([0.7, 0.4])
    """

    said: NDArray[np.float64]
    right: NDArray[np.float64]

    @classmethod
    def fitted(cls, traces: Sequence[Trace], column: int) -> Self:
        """Returns the calibration of one column of recorded confidences; traces: at least one."""
        from scipy.optimize import isotonic_regression

        said, right, weight = _tokens(traces, column)
        order = np.argsort(said, kind="stable")
        found = isotonic_regression(right[order], weights=weight[order])
        first = found.blocks[:-1]
        weights = np.add.reduceat(weight[order], first)
        means = np.add.reduceat((weight * said)[order], first) / weights
        return cls(means, np.clip(found.x[first], 0.0, 1.0))

    def of(self, confidence: NDArray[np.floating]) -> NDArray[np.float64]:
        """Returns the share of right tokens at each confidence, in the shape of confidence."""
        return np.asarray(np.interp(confidence, self.said, self.right))


def calibrated(traces: Sequence[Trace], column: int) -> list[Trace]:
    """Returns texts, even ones calibrated by odd ones and vice versa; a single text unchanged."""
    halves = [Calibration.fitted(traces[at::2], column) for at in (0, 1) if traces[at::2]]
    if len(halves) < 2:
        return list(traces)
    found = []
    for place, trace in enumerate(traces):
        assert trace.confidence is not None
        along, _, own = sure = trace.confidence
        changed = [values.astype(np.float64) for values in (along, own)]
        for values in changed:
            values[..., column] = halves[1 - place % 2].of(values[..., column])
        mended = sure._replace(along=changed[0], own=changed[1])
        found.append(replace(trace, confidence=mended))
    return found


def reliability(traces: Sequence[Trace], column: int) -> list[dict[str, float]]:
    """Returns how often drafted tokens are accepted, by tenths of the draft's confidence.

    Each tenth with tokens has a row: the mean confidence (`said`), the mean calibrated confidence
    (`calibrated`), the accepted share (`right`), and the expected number of tokens (`tokens`).
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
    """Returns confidence, acceptance and weight of each token that a block can reach.

    The weight is the probability that the block accepts all earlier tokens.
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
