"""The sliders of a plan from rates by position: the first position, and all later ones together."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from estimator.model_shapes.head_kind import prior_of
from simulator.acceptance.accepted import Accepted
from simulator.acceptance.from_counts import rates_of_each
from simulator.numerics.arguments import Floats
from specplan.reports.page.explorer import grid_json, smallest_near

Json = Mapping[str, Any]
# Values of the first rate, and multiples of the later ones: as many as interpolation needs.
_FIRSTS, _LATERS, _MOST = 31, 16, 1.5
_FIRST, _LATER = "accepted at position 1", "later positions, × this plan's"
_READING = (
    "Other rates at this plan's costs: the share of drafts whose first token is accepted, and a "
    "factor on the rate of each later position if those before it are accepted. Speed-ups were "
    "computed by specplan at grid points and are within 0.5 % between them. K is looked up: the "
    "smallest within {} of the fastest. At other rates the odds of a gain do not count."
)


def position_grid(answer: Json) -> dict[str, Any] | None:
    """Returns the grid over rates by position, as JSON.

    None if the plan rests on runs, or its acceptance on other counts than rates by position.

    answer: JSON of a plan for one setting.
    """
    runs = (answer.get("cost") or {}).get("evidence", 0)
    if answer["acceptance"]["kind"] != "by_position" or runs:
        return None
    tokens = np.array([point["expected_tokens"] for point in answer["curve"]])
    observed = answer["acceptance"]["observed_gamma"]
    rates = np.diff(np.concatenate([[1.0], tokens[:observed]]))
    kinds = [None, prior_of(answer["draft_kind"])] if answer.get("draft_kind") else [None]
    same = [kind for kind in kinds if np.allclose(_tokens(rates[None], kind, len(tokens)), tokens)]
    if not same or rates.min() <= 0:
        return None
    first, *later = (rates / np.concatenate([[1.0], rates[:-1]])).tolist()
    most = min([_MOST, *(1 / rate for rate in later)])
    axes = [_axis("first", _FIRST, first, 1.0, _FIRSTS)]
    if later:
        axes.append(_axis("later", _LATER, 1.0, most, _LATERS))
    steps = axes[1]["values"] if later else [1.0]
    conditional = [[one, *(times * rate for rate in later)]
                   for one in axes[0]["values"] for times in steps]  # fmt: skip
    grid = _tokens(np.cumprod(conditional, axis=1), same[0], len(tokens))
    factors = np.array([factor or 0.0 for factor in answer["speed_ups"]])
    table = (factors * (grid / tokens)[:, : len(factors)]).reshape(-1, len(steps), len(factors))
    advised = smallest_near(table, answer["near"])
    at = (axes[0]["values"].index(first), axes[1]["values"].index(1.0) if later else 0)
    advised[at] = answer["test_gamma"] or answer["advised_gamma"] or 0
    start = {"name": "this plan", "first": first, "later": 1.0}
    reading = _READING.format(f"{100 * answer['near']:g} %")
    return {
        **grid_json(reading, axes, table, advised, [start]),
        "undecided": [bool(answer["first_runs"])],
        "baseline": [answer["baseline_tokens_per_second"]],
    }


def _axis(key: str, label: str, known: float, most: float, count: int) -> dict[str, Any]:
    """Returns a slider from 0 to `most` that has the plan's own value as a point."""
    values = np.linspace(0, most, count)
    values[int(np.abs(values - known).argmin())] = known
    return {"key": key, "label": label, "values": values.tolist(), "step": 0.001}


def _tokens(rates: Floats, kind: str | None, most: int) -> Floats:
    """Returns tokens per call for each γ up to `most`, one row for each row of `rates`.

    rates: shares of all drafts by position, shape (n, positions).
    """
    likely = rates_of_each([Accepted.of_rates(row) for row in rates.tolist()], kind)
    return np.asarray(1 + likely[:, :most].cumprod(axis=1).cumsum(axis=1))
