"""The draft that flags load: its names, its file, and whether an engine loads its kind."""

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from engines.kind import Drafted, listed
from estimator.traces.traces import DraftSampling
from simulator.cost.setting import Load

UNNAMED = "DRAFT"


class DraftLabels(NamedTuple):
    """Names of the draft for flags; None: not known.

    name: the drafter as --draft names it, unless it is a model or head.
    kind: the draft's kind as `engines.kind.Drafted` names it.
    model: the name of the draft model or head.
    """

    name: str | None = None
    kind: str | None = None
    model: str | None = None

    def drafted(self, load: Load | None, sampling: DraftSampling | None = None) -> Drafted:
        """Returns the draft to load; a kind that is not known is the costs' kind."""
        kind = self.kind or ("model" if load is None else load.draft_kind)
        return Drafted(self.model or UNNAMED, kind, sampling)


def served(draft: Drafted, drafter: str) -> Drafted:
    """Returns the draft with the file of a profile's drafter, unless it has a name."""
    from estimator.draft_names.kind import parse_drafter

    file = parse_drafter(drafter).served
    if file is None:
        raise ValueError(f"`server` needs a draft model, got a profile of {drafter}")
    return replace(draft, name=file) if draft.name == UNNAMED else draft


def require_loaded(where: str, draft: Drafted, kinds: Collection[str]) -> None:
    if draft.kind not in kinds:
        raise ValueError(
            f"a draft for {where} must be of {listed(sorted(kinds))}, got {draft.kind}"
        )
