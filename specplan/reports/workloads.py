"""What a profile says of each kind of prompt, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from specplan.reports.output import bounds, table

if TYPE_CHECKING:
    from estimator.profiles.profile import Estimate, Profile, Workload

# Of a category's name, so that a row fits a terminal.
WIDEST = 14


def shown_workloads(profile: Profile) -> dict[str, Mapping[str, Workload]]:
    """Returns what is worth a table, by what it is by: categories, and contexts if several."""
    shown = {"category": profile.by_category} if profile.by_category else {}
    if len(profile.by_context) > 1:
        shown["prompt tokens"] = profile.by_context
    return shown


def common_gamma(profile: Profile) -> int:
    """Returns the γ at which workloads are compared: the best over all prompts, 1 at least."""
    best = profile.optimal_gamma
    return 1 if best is None else max(best, 1)


def workload_lines(profile: Profile) -> list[str]:
    """Returns a table of each of `shown_workloads`, numbers with their intervals over prompts."""
    gamma = common_gamma(profile)
    lines: list[str] = []
    for by, workloads in shown_workloads(profile).items():
        lines += ["", f"At gamma {gamma}, by {by}:", _table(by, workloads, gamma)]
    return lines


def _table(by: str, workloads: Mapping[str, Workload], gamma: int) -> str:
    rows = [
        [
            name if len(name) <= WIDEST else f"{name[: WIDEST - 1]}…",
            str(each.alpha.prompts),
            f"{each.alpha.value:.2f} {bounds(each.alpha.low, each.alpha.high, digits=2)}",
            _shown(each.tokens_per_call[gamma], digits=1),
            _shown(each.improvement_factor[gamma], digits=2),
            str(each.optimal_gamma) if each.optimal_gamma > 0 else "none",
        ]
        for name, each in workloads.items()
    ]
    return table(rows, header=[by, "n", "alpha", "tokens/call", "speed-up", "best"])


def _shown(estimate: Estimate, *, digits: int) -> str:
    return f"{estimate.value:.{digits}f} {bounds(estimate.low, estimate.high, digits=digits)}"
