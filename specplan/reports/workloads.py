"""What a profile says of each kind of prompt, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from specplan.reports.output import bounds, table

if TYPE_CHECKING:
    from estimator.profiles.profile import Estimate, Profile, Workload

# Of a category's name, so that a row fits a terminal.
WIDEST = 14


def workload_lines(profile: Profile) -> list[str]:
    """Returns tables by category and by length of the context, where there are several of either.

    Each with its interval over prompts, at the γ that is best over all of them.
    """
    gamma = max(profile.optimal_gamma or 0, 1)
    lines: list[str] = []
    for by, workloads in (
        ("category", profile.by_category),
        ("prompt tokens", profile.by_context),
    ):
        if len(workloads) > 1 or (by == "category" and workloads):
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
