"""The sliders of a plan: batch, context, GPU among those planned, and another acceptance rate."""

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specplan.reports.page.explorer import (
    ALPHA,
    alphas_of,
    grid_json,
    smallest_near,
    table_alphas,
    tokens_per_call,
)

Json = Mapping[str, Any]
# Most numbers of a grid: about 8 bytes each on a page, 400 kB in all.
_MOST = 45_000
_PLANNED = (
    "{} Speed-ups were computed by specplan at grid points and are within 0.5 % between them. K is "
    "looked up: the smallest within {} of the fastest.{}"
)
_SETTINGS = "Settings that were planned{}."
_OTHER = " At another acceptance rate than the plan's, the odds of a gain do not count."


def plan_grid(
    rows: Sequence[Json], labels: Mapping[str, str], at: int | None = None
) -> dict[str, Any] | None:
    """Returns the grid over the settings in which rows of a plan differ, and over α, as JSON.

    A slider of α needs a stated acceptance rate and costs without runs. None if no slider is left,
    or with more settings than sliders.

    rows: JSON of plans with `speed_ups`. labels: names of the settings that differ, by key.
    at: index of the row at which sliders start; None: the first that fits.
    """
    if any("speed_ups" not in point for point in rows):
        return None
    steps = {key: list(dict.fromkeys(point[key] for point in rows)) for key in labels}
    by_place = {
        tuple(point[key] for key in labels): point for point in rows if point["fits"] is not False
    }
    places = [by_place.get(place) for place in product(*steps.values())]
    first = next((point for point in places if point is not None), None)
    first = first if at is None else rows[at]
    if first is None or len(steps) > 3:
        return None
    longest = max(len(point["speed_ups"]) for point in rows)
    factors = np.array([_factors(point, longest) for point in places])
    advice = np.array([_advice(point) for point in places])
    axes: list[dict[str, Any]] = [
        {"key": key, "label": labels[key], "values": list(range(len(values))), "step": 1,
         "discrete": True, "names": [str(value) for value in values]}
        for key, values in steps.items()
    ]  # fmt: skip
    start: dict[str, Any] = {"name": "this plan"}
    start |= {key: values.index(first[key]) for key, values in steps.items()}
    alpha, near = first["alpha"], first["near"]
    one_rate = all(point is None or _stated(point, alpha) for point in places)
    small = len(alphas_of(alpha)) * factors.size <= _MOST and len(steps) < 3
    if one_rate and small:
        values, table = alphas_of(alpha), table_alphas(alpha)
        advised = smallest_near(_by_alpha(factors, alpha, table.tolist()), near)
        advised[table.tolist().index(alpha)] = advice
        factors = _by_alpha(factors, alpha, values)
        axes.insert(0, {"key": "alpha", "label": ALPHA, "values": values, "step": 0.001,
                        "advised": table.tolist()})  # fmt: skip
        start["alpha"] = alpha
    else:
        advised = advice
    if not axes or factors.size > _MOST:
        return None
    shape = [len(axis["values"]) for axis in axes]
    assert factors.size == prod(shape) * longest
    reading = _PLANNED.format(
        _SETTINGS.format(", at any acceptance rate" * (one_rate and small))
        if steps else "Another acceptance rate at this plan's costs.",
        f"{100 * near:g} %", _OTHER * (one_rate and small),
    )  # fmt: skip
    return {
        **grid_json(reading, axes, factors, advised, [start]),
        "undecided": [point is not None and bool(point["first_runs"]) for point in places],
        "baseline": [
            None if point is None else point["baseline_tokens_per_second"] for point in places
        ],
    }


def _stated(point: Json, alpha: float) -> bool:
    """Returns whether a point has a stated acceptance rate `alpha`, and costs without runs."""
    runs = (point.get("cost") or {}).get("evidence", 0)
    rate = point["acceptance"]["kind"] == "iid" and point["alpha_iid"] is None
    return rate and point["alpha"] == alpha and not runs


def _factors(point: Json | None, longest: int) -> list[float]:
    """Returns speed-ups by γ from 1; 0 where a γ cannot be advised, or nothing fits."""
    factors = [] if point is None else [factor or 0.0 for factor in point["speed_ups"]]
    return factors + [0.0] * (longest - len(factors))


def _advice(point: Json | None) -> int:
    return 0 if point is None else int(point["test_gamma"] or point["advised_gamma"] or 0)


def _by_alpha(
    factors: NDArray[np.float64], alpha: float, values: Sequence[float]
) -> NDArray[np.float64]:
    """Returns speed-ups at other acceptance rates than `alpha`, shape (rates, places, γ).

    The time of a block does not depend on the acceptance, and its doubt neither.
    """
    most = factors.shape[-1]
    gain = tokens_per_call(values, most) / tokens_per_call([alpha], most)
    others: NDArray[np.float64] = factors * gain[:, None, :]
    return others
