"""Drafts with their acceptance: which of several is the fastest for a target at one load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.acceptance.acceptance import Acceptance
    from simulator.choice.plan import Plan
    from simulator.cost.costs import Costs
    from specplan.api.plan import Plans
    from specplan.api.settings import Choice, Graphs

__all__ = ["SizedDraft"]


@dataclass(frozen=True)
class SizedDraft:
    """A draft to consider.

    config: the config.json of a model or a head; for multi-token prediction, the target's.
    acceptance: how often its tokens are accepted: Iid, ByPosition, ...
    name: its name in the answer and in flags; None: the name of the file or folder.
    """

    config: Path | str
    acceptance: Acceptance
    name: str | None = None

    @property
    def title(self) -> str:
        path = Path(self.config)
        return self.name or (path.parent.name if path.stem == "config" else path.stem)


def named_apart(drafts: Sequence[SizedDraft]) -> Sequence[SizedDraft]:
    """Returns the drafts; raises ValueError if there is none, or two have one name."""
    if not drafts:
        raise ValueError("drafts must have at least one draft, got none")
    titles = [draft.title for draft in drafts]
    for title in titles:
        if titles.count(title) > 1:
            raise ValueError(f"drafts must have different names (name=NAME), got {title} twice")
    return drafts


def plans_of_drafts(
    drafts: Sequence[SizedDraft],
    costs: Costs,
    choice: Choice,
    *,
    server: str | None,
    graphs: Graphs,
) -> Plans:
    """Returns a plan for each draft at one load, the fastest first.

    costs: a `Roofline` without a draft's configuration.
    """
    from specplan.api.plan import Plans
    from specplan.api.request import Question
    from specplan.api.roofline import Roofline

    if not isinstance(costs, Roofline) or costs.draft_config is not None:
        raise ValueError("several drafts need costs on a `gpu`, without `draft_config`")
    if costs.runs:
        raise ValueError("`run` cannot be combined with several drafts: a run has one draft")
    loads = len(costs.batches or (1,)) * len(costs.contexts or (1,))
    if loads * len(costs.machines) > 1:
        raise ValueError("several drafts need one `gpu`, `tp`, `batch` and `context`")
    answered = []
    for draft in named_apart(drafts):
        priced = replace(costs, draft_config=Path(draft.config))
        named = replace(choice, draft=draft.title)
        question = Question((draft.acceptance,), priced, named, server, graphs=graphs)
        (row,) = question.plans()
        answered.append((row, question, draft.title))
    answered.sort(key=lambda row: (not row[0].setting.fits, -_speed_up(row[0])))
    rows, questions, names = zip(*answered, strict=True)
    return Plans(rows, questions[0], drafts=names)


def _speed_up(row: Plan) -> float:
    from specplan.reports.plan_rows import shown_gamma

    return row.point(shown_gamma(row)).improvement_factor
