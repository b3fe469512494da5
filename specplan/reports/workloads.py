"""What a profile says of each kind of prompt, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from specplan.reports.table import GAMMA, Column, ranged, table

if TYPE_CHECKING:
    from estimator.profiles.drafting import Alpha, Estimate
    from estimator.profiles.profile import Profile, Workload

# Of a category's name, so that a row fits a terminal.
WIDEST = 14


def workload_lines(profile: Profile) -> list[str]:
    """Returns a table of each kind of prompts, numbers with their intervals over prompts."""
    gamma = profile.compared_gamma
    lines: list[str] = []
    for by, workloads in profile.workloads.items():
        lines += ["", f"At {GAMMA} {gamma}, by {by}:", _table(by, workloads, gamma)]
    return lines


def _table(by: str, workloads: Mapping[str, Workload], gamma: int) -> str:
    columns: list[Column[str]] = [
        Column(by, lambda name: name if len(name) <= WIDEST else f"{name[: WIDEST - 1]}…"),
        Column("n", lambda name: str(workloads[name].alpha.prompts)),
        Column("alpha", lambda name: _shown(workloads[name].alpha, ".2f")),
        Column("tokens/call", lambda name: _shown(workloads[name].tokens_per_call[gamma], ".1f")),
        Column("speed-up", lambda name: _shown(workloads[name].improvement_factor[gamma], ".2f")),
        Column("best K", lambda name: str(workloads[name].optimal_gamma or "none")),
    ]
    return table(workloads, columns)


def _shown(estimate: Estimate | Alpha, form: str) -> str:
    return ranged(estimate.value, estimate.low, estimate.high, form)
