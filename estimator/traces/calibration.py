"""Calibrated confidence: the share of right tokens among tokens with a given confidence.

The map from confidence to share is fitted by isotonic regression (Zadrozny and Elkan 2002). The
texts with even numbers calibrate the texts with odd numbers, and vice versa.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from estimator.traces.traces import RecordedConfidence, Trace

# Number of bins of uncalibrated confidence in `reliability`.
BINS = 10
Reals = NDArray[np.floating]


def calibration(traces: Sequence[Trace], column: int) -> Callable[[Reals], Reals]:
    """Returns the function from a recorded confidence to the share of accepted tokens.

    The function rises and is linear between points.

    column: index of the confidence's kind in `reference.scoring.confidence`.
    """
    from scipy.optimize import isotonic_regression

    said, right, weight = _tokens(traces, column)
    order = np.argsort(said, kind="stable")
    found = isotonic_regression(right[order], weights=weight[order])
    first = found.blocks[:-1]
    weights = np.add.reduceat(weight[order], first)
    means = np.add.reduceat((weight * said)[order], first) / weights
    shares = np.clip(found.x[first], 0.0, 1.0)
    return lambda confidence: np.asarray(np.interp(confidence, means, shares))


def calibrated(traces: Sequence[Trace], column: int) -> list[Trace]:
    """Returns the traces with calibrated confidences; a single trace is returned unchanged."""
    halves = [calibration(traces[at::2], column) for at in (0, 1) if traces[at::2]]
    if len(halves) < 2:
        return list(traces)
    found = []
    for place, trace in enumerate(traces):
        assert trace.confidence is not None
        along, starts, own = trace.confidence
        along, own = along.astype(np.float64), own.astype(np.float64)
        for values in (along, own):
            values[..., column] = halves[1 - place % 2](values[..., column])
        found.append(replace(trace, confidence=RecordedConfidence(along, starts, own)))
    return found


def reliability(traces: Sequence[Trace], column: int) -> list[dict[str, float]]:
    """Returns how often drafted tokens are accepted, by tenths of the draft's confidence.

    Each tenth that has tokens gives a dictionary: the mean confidence (`said`), the mean calibrated
    confidence (`calibrated`), the accepted share (`right`) and the expected number of `tokens`.
    """
    said, right, weight = _tokens(traces, column)
    mended = _tokens(calibrated(traces, column), column)[0]
    bins = np.minimum((said * BINS).astype(np.int64), BINS - 1)
    totals = np.bincount(bins, weight)
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
