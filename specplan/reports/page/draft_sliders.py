"""The sliders of measured drafts: the draft, and how its time and the target's checks scale."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.profiles.best import plan_of
from simulator.cost.curves import CostModel
from specplan.reports.page.explorer import grid_json, smallest_near
from specplan.reports.page.inputs import Named

# Multiples of the measured times. The time of a token is linear in both, so that few suffice.
_SCALES = (0.0, 1.0, 3.0)
_TABLE = np.linspace(0, _SCALES[-1], 13)
_READING = (
    "The recorded texts at other costs: the time to draft, and the time that each further token "
    "adds to a target pass, as multiples of the measured ones. Speed-ups were computed by specplan "
    "at grid points and are within 0.5 % between them. K is looked up: the smallest timed one "
    "within 1 % of the fastest; away from the measured times the odds of a gain do not count."
)
_LABELS = {"drafting": "time to draft, × measured", "checking": "time to check, × measured"}


def draft_grid(drafts: Sequence[Named]) -> dict[str, Any] | None:
    """Returns the grid over drafts and multiples of their times, as JSON; None without times."""
    timed = [draft for draft in drafts if draft.best is not None]
    if not timed:
        return None
    longest = max(int(draft.best.plan.candidates.max(initial=1)) for draft in timed if draft.best)
    factors = np.array([_factors(draft, longest) for draft in timed])
    places = np.stack([np.interp(_TABLE, _SCALES, unit) for unit in np.eye(len(_SCALES))], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        able = factors > 0
        seconds = np.where(able, 1 / factors, 0.0)
        between = np.einsum("ia,jb,dabk->dijk", places, places, seconds)
        table = np.where(able[:, :1, :1], 1 / between, 0.0)
    advised = smallest_near(table)
    at = int(np.abs(_TABLE - 1).argmin())
    advised[:, at, at] = [draft.best.plan.advised_gamma for draft in timed if draft.best]
    names = [draft.name for draft in timed]
    axes = [
        {"key": "draft", "label": "draft", "values": list(range(len(names))), "step": 1,
         "discrete": True, "names": names},
        *(
            {"key": key, "label": label, "values": list(_SCALES), "advised": _TABLE.tolist(),
             "step": 0.05}
            for key, label in _LABELS.items()
        ),
    ]  # fmt: skip
    starts = [
        {"name": name, "draft": place, "drafting": 1.0, "checking": 1.0}
        for place, name in enumerate(names)
    ]
    return grid_json(_READING, axes, factors, advised, starts)


def _factors(draft: Named, longest: int) -> NDArray[np.float64]:
    """Returns speed-ups by multiples of drafting and of checking, and γ; 0 where none is timed."""
    cost, best = draft.profile.cost, draft.best
    assert cost is not None
    assert best is not None
    factors = np.zeros((len(_SCALES), len(_SCALES), longest))
    for at, drafting in enumerate(_SCALES):
        for place, checking in enumerate(_SCALES):
            curve = plan_of(draft.profile, scaled(cost, drafting, checking)).curve
            able = best.plan.candidates - 1
            factors[at, place, able] = curve.improvement_factor[able]
    return factors


def scaled(cost: CostModel, drafting: float, checking: float) -> CostModel:
    """Returns a cost whose time to draft, and time of further tokens to check, are multiplied."""
    step = cost.step_seconds
    return replace(
        cost,
        target_seconds={
            n: step + checking * (seconds - step) for n, seconds in cost.target_seconds.items()
        },
        draft_seconds=drafting * cost.draft_seconds,
        draft_curve={gamma: drafting * seconds for gamma, seconds in cost.draft_curve.items()},
    )
