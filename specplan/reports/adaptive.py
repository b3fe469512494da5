"""Adaptive verification by batch size: its speed, and its gain over fixed draft lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from estimator.profiles.adaptive import WaySpeed, adaptive_speeds
from simulator.acceptance.stopping.ranking import BUDGETS
from specplan.reports.output import folded
from specplan.reports.table import Column, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from simulator.acceptance.stopping.ranking import RankedTexts
    from simulator.choice.plan import Plan

LEGEND = (
    "Speed-up over no speculation (K drafted, tokens verified for each sequence). One K, K by "
    "batch: all drafted tokens are verified. Walk, previous step: the tokens likeliest to be "
    "reached are verified, to the first that does not pay, or as many as would have paid in the "
    "previous step. Oracle: tokens that will be accepted."
)


class AdaptivePlans:
    """The speed at each batch size, for several ways to choose the verified tokens."""

    def __init__(self, rows: Sequence[Plan], texts: RankedTexts) -> None:
        """Simulates each batch size; `rows` has one plan for each."""
        self._speeds = adaptive_speeds(rows, texts)
        pairs = (("rank", "one K"), ("rank", "K by batch"), ("oracle", "K by batch"))
        self._gains = {
            f"{one} over {other}": float(
                np.exp(np.mean([_log(ways, one, other) for ways in self._speeds.values()]))
            )
            for one, other in pairs
        }

    def json(self) -> dict[str, Any]:
        """Returns a JSON object: `rows` by batch size, and geometric means of gains over rows.

        oracle_gain_reached: share of the oracle's gain over K by batch; null if it has none.
        """
        rows = []
        for batch, ways in self._speeds.items():
            whole, found = (_log(ways, one, "K by batch") for one in ("oracle", "rank"))
            shown = {_key(way): speed._asdict() for way, speed in ways.items()}
            reached = found / whole if whole > 0 else None
            rows.append({"batch": batch, **shown, "oracle_gain_reached": reached})
        gains = {_key(name): gain for name, gain in self._gains.items()}
        return {"verification": "adaptive", "rows": rows, **gains}

    def text(self) -> str:
        columns = [Column[int]("batch", str)]
        columns += [self._column(way) for way in next(iter(self._speeds.values()))]
        one, each, oracle = (f"{100 * (gain - 1):+.1f} %" for gain in self._gains.values())
        summary = (
            f"Verification by rank: {one} over one K for all these batch sizes, {each} over the "
            f"best K of each; the oracle: {oracle} (geometric means)."
        )
        return folded("\n".join([LEGEND, "", table(self._speeds, columns), "", summary]))

    def _column(self, way: str) -> Column[int]:
        def cell(batch: int) -> str:
            found = self._speeds[batch][way]
            return f"{found.speed_up:.2f} ({found.gamma}, {found.verified:.1f})"

        return Column[int](way, cell)


def _log(ways: Mapping[str, WaySpeed], one: str, other: str) -> float:
    """Returns the logarithm of one way's gain over another; "rank" is the better of two budgets."""
    best = max(ways[way].speed_up for way in (BUDGETS if one == "rank" else (one,)))
    return float(np.log(best / ways[other].speed_up))


def _key(name: str) -> str:
    return name.lower().replace(" ", "_")
