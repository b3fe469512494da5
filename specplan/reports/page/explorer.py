"""The grid behind a page's sliders: speed-ups and advice, computed ahead by the planner.

The page interpolates times between grid points, and looks the draft length up. The time per token
is linear in the costs, so that two values of each suffice; the grid in the acceptance rate is as
fine as linear interpolation needs.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.acceptance.acceptance import Iid
from simulator.choice.advice import NEAR
from simulator.choice.plan import DEFAULT_MAX_GAMMA
from simulator.cost.curves import CostModel

# The largest relative error of interpolated times, and the digits of the grid's numbers.
_ERROR, _DIGITS = 0.002, 6
_MOST_C, _MOST_SLOPE = 1.0, 0.5
# Points of the table of advised draft lengths: acceptance rates, c, slopes.
_ALPHAS, _CS, _SLOPES = 51, 33, 17
_READING = (
    "Independent acceptances of rate α; a draft step takes c target steps, and each further token "
    "of a target pass adds a share (the slope) of a step. Speed-ups were computed by specplan at "
    "grid points and are within 0.5 % between them; the draft length is looked up."
)
ALPHA = "α, acceptance rate"
Floats = NDArray[np.float64]


def ratio_grid(starts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the grid over acceptance rate, c and slope of verification, as JSON.

    starts: settings that the page offers, with name, alpha, c and slope; each is a grid point.
    """
    alphas = sorted({*_alphas(), *(start["alpha"] for start in starts)})
    cs = sorted({0.0, _MOST_C, *(start["c"] for start in starts)})
    slopes = sorted({0.0, _MOST_SLOPE, *(start["slope"] for start in starts)})
    # K changes fastest near an acceptance rate of 1, and near c and slope of 0.
    table = [1 - np.linspace(1, 0, _ALPHAS) ** 2, cs[-1] * np.linspace(0, 1, _CS) ** 2,
             slopes[-1] * np.linspace(0, 1, _SLOPES) ** 2]  # fmt: skip
    for values, key in zip(table, ("alpha", "c", "slope"), strict=True):
        nearest = {int(np.abs(values - start[key]).argmin()): start[key] for start in starts}
        for at, value in nearest.items():
            values[at] = value
    labels = (ALPHA, "c, draft step over target step", "slope of verification")
    axes = [
        {"key": key, "label": label, "values": values, "advised": at.tolist(), "step": 0.001}
        for key, label, values, at in zip(
            ("alpha", "c", "slope"), labels, (alphas, cs, slopes), table, strict=True
        )
    ]
    factors = _speed_ups(np.array(alphas), np.array(cs), np.array(slopes))
    return grid_json(_READING, axes, factors, smallest_near(_speed_ups(*table)), starts)


def alphas_of(alpha: float) -> list[float]:
    """Returns the acceptance rates of a grid that has `alpha` as a point."""
    return sorted({*_alphas(), alpha})


def table_alphas(alpha: float) -> Floats:
    """Returns the acceptance rates at which draft lengths are looked up; `alpha` is one."""
    table = 1 - np.linspace(1, 0, _ALPHAS) ** 2
    table[int(np.abs(table - alpha).argmin())] = alpha
    return table


def grid_json(
    reading: str,
    axes: Sequence[Mapping[str, Any]],
    factors: Floats,
    advised: NDArray[np.int64],
    starts: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Returns a grid as JSON.

    axes: sliders; one with "discrete" has indices as values and "names" that are shown.
    factors: speed-ups, shape (*axes, γ from 1); 0 where a γ cannot be advised.
    advised: draft lengths at the points "advised" of each axis, or else at its values.
    """
    return {
        "reading": reading,
        "axes": axes,
        "gammas": list(range(1, factors.shape[-1] + 1)),
        "speed_up": [float(f"{factor:.{_DIGITS}g}") for factor in factors.ravel()],
        "advised": advised.ravel().tolist(),
        "starts": [dict(start) for start in starts],
        "chart": {
            "x": "K", "y": "times the speed without speculation", "categories": [], "spans": [],
            "levels": [{"y": 1.0, "label": "without speculation"}],
        },
    }  # fmt: skip


def smallest_near(factors: Floats, near: float = NEAR) -> NDArray[np.int64]:
    """Returns the smallest draft length within `near` of the best; 0: do not speculate.

    factors: speed-ups, shape (..., γ from 1).
    """
    with_none = np.concatenate([np.ones((*factors.shape[:-1], 1)), factors], axis=-1)
    best = with_none.max(axis=-1, keepdims=True)
    places: NDArray[np.int64] = np.argmax(with_none >= (1 - near) * best, axis=-1)
    return places


def _speed_ups(alphas: Floats, cs: Floats, slopes: Floats) -> Floats:
    """Returns the speed-ups, shape (alphas, cs, slopes, γ from 1)."""
    gammas = np.arange(1, DEFAULT_MAX_GAMMA + 1)
    tokens = tokens_per_call(alphas, DEFAULT_MAX_GAMMA)
    blocks = np.array([
        [CostModel({1: 1.0, 2: 1.0 + slope}, c).block_seconds(gammas) for slope in slopes]
        for c in cs
    ])  # fmt: skip
    factors: Floats = tokens[:, None, None, :] / blocks
    return factors


def tokens_per_call(alphas: Iterable[float], most: int) -> Floats:
    """Returns tokens per call, shape (alphas, γ from 1 to most)."""
    gammas = np.arange(1, most + 1)
    return np.array([Iid(float(alpha)).tokens_per_call(gammas) for alpha in alphas])


@cache
def _alphas() -> tuple[float, ...]:
    """Returns acceptance rates whose tokens per call are interpolated with an error of _ERROR."""
    gammas, values, step = np.arange(1, DEFAULT_MAX_GAMMA + 1), [0.0], 0.1

    def times(alpha: float) -> Floats:
        return 1 / np.asarray(Iid(alpha).tokens_per_call(gammas))

    while values[-1] < 1:
        first = values[-1]
        last = min(1.0, first + step)
        middle = times((first + last) / 2)
        if np.max(np.abs((times(first) + times(last)) / 2 / middle - 1)) <= _ERROR:
            values.append(last)
            step *= 1.3
        else:
            step *= 0.8
    return tuple(round(value, 4) for value in values)
