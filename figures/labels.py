"""Labels at the ends of lines, moved apart where they would overlap."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from figures.drawing import Axes, note

LINE_INCHES = 0.19  # from one label to the next


def label_right(axes: Axes, labels: Sequence[tuple[float, str, str]]) -> None:
    """Writes labels right of the axes, and moves them apart where they would overlap.

    The limits of the axes must already be set. labels: (height in data units, text, colour).
    """
    to_axes = axes.transData + axes.transAxes.inverted()
    ascending = sorted(labels, key=lambda label: label[0])
    wanted = to_axes.transform([(1.0, height) for height, _, _ in ascending])[:, 1]
    # The least moves that keep neighbours a line apart.
    apart = LINE_INCHES * axes.figure.dpi / axes.bbox.height * np.arange(len(ascending))
    heights = nearest_ascending(wanted - apart) + apart
    for (_, text, colour), height in zip(ascending, heights.tolist(), strict=True):
        place = (1.015, height)
        note(axes, text, place, within="axes fraction", align="left center", colour=colour)


def nearest_ascending(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the ascending values with the least squared distance to `values`, shape (n,).

    Value i is the maximum over j <= i of the minimum over k >= i of the mean of values j to k
    (Barlow et al. 1972).

    scipy has it, too, but importing its optimisers takes a quarter of a figure's time.

    values: shape (n,), at least one.
    """
    place = np.arange(len(values))
    lengths = place - place[:, None] + 1
    sums = np.concatenate([[0.0], np.cumsum(values)])
    means = np.where(lengths > 0, (sums[1:] - sums[:-1, None]) / np.maximum(lengths, 1), np.inf)
    least = np.minimum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
    ascending: NDArray[np.float64] = np.where(lengths > 0, least, -np.inf).max(axis=0)
    return ascending
