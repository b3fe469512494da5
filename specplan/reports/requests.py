"""Acceptance by request: its spread, and the draft length of each request and category."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engines.observing.requests import alpha_spread
from simulator.numerics.intervals import percent
from specplan.reports.output import folded
from specplan.reports.table import GAMMA, Column, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engines.observing.by_request import RequestLengths
    from engines.observing.observation import RequestCounts
    from estimator.profiles.parts import Estimate

_NO_CATEGORY = "(none)"


def requests_json(
    requests: Sequence[RequestCounts], lengths: RequestLengths | None
) -> dict[str, Any]:
    """Returns the JSON of requests; lengths: None if nothing was planned."""
    rows = [{**each._asdict(), "alpha_iid": each.accepted / each.trials} for each in requests]
    data = {"requests": rows, "alpha_spread": alpha_spread(requests)}
    if lengths is None:
        return data
    for one, gamma in zip(rows, lengths.best, strict=True):
        one["best_gamma"] = gamma
    names = ("category", "requests", "alpha_iid", "best_gamma")
    found = {
        "one_gamma": lengths.one_gamma,
        "shares": lengths.shares,
        "gain": lengths.gain,
        "categories": [dict(zip(names, own, strict=True)) for own in _own(requests, lengths)],
        "category_gain": lengths.category_gain,
    }
    return data | {"by_request": found}


def _own(
    requests: Sequence[RequestCounts], lengths: RequestLengths
) -> list[tuple[str | None, int, float, int]]:
    """Returns each category with its number of requests, alpha_iid and best draft length."""
    return [
        (name, len(same), sum(e.accepted for e in same) / sum(e.trials for e in same), gamma)
        for name, gamma in lengths.categories.items()
        for same in [[each for each in requests if each.category == name]]
    ]


def spread_text(requests: Sequence[RequestCounts]) -> list[str]:
    """Returns a line on how much α differs between requests; empty for fewer than two requests."""
    spread = alpha_spread(requests)
    if spread is None:
        return []
    alphas = [each.accepted / each.trials for each in requests]
    return [
        f"alpha_iid of {len(alphas)} requests: {min(alphas):.3f} to {max(alphas):.3f}; beyond "
        f"chance they differ by {spread:.3f} (standard deviation: specplan traffic "
        f"--alpha-spread {spread:.3f})."
    ]


def lengths_text(requests: Sequence[RequestCounts], lengths: RequestLengths) -> str:
    """Returns the readable form of the draft lengths of requests and categories."""
    shares = ", ".join(f"K {gamma}: {share:.0%}" for gamma, share in lengths.shares.items())
    lines = [
        f"The best K by request: {shares} of requests. If the alpha of each request were known "
        f"before it begins, the best K of each would gain {_gain(lengths.gain)} over K "
        f"{lengths.one_gamma} for all."
    ]
    if lengths.category_gain is not None:
        columns = [
            Column[Any]("category", lambda own: own[0] or _NO_CATEGORY),
            Column[Any]("requests", lambda own: str(own[1])),
            Column[Any]("alpha_iid", lambda own: f"{own[2]:.3f}"),
            Column[Any](f"best {GAMMA}", lambda own: str(own[3])),
        ]
        lines += ["", table(_own(requests, lengths), columns), ""]
        lines += [
            f"A K for each category gains {_gain(lengths.category_gain)} over one K for all, each "
            "request with a K chosen on the others."
        ]
    return folded("\n".join(lines))


def _gain(found: Estimate) -> str:
    value = f"{100 * (found.value - 1):.1f} %"
    if found.low is None or found.high is None:
        return value
    low, high = (100 * (end - 1) for end in (found.low, found.high))
    return f"{value} ({percent()} interval {low:.1f} to {high:.1f})"
