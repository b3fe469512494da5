"""How often drafts stand: the ways to state it that `specplan.options.acceptances` holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from specplan.options.kinds import Kind, kinds_of

if TYPE_CHECKING:
    from engines.kind import EngineKind
    from estimator.profiles.profile import Profile
    from estimator.traces.traces import DraftSampling, Verification
    from simulator.acceptance.acceptance import Acceptance


@dataclass(frozen=True)
class Background:
    """What acceptances are made from beside their own options.

    profile: the file that is planned from; None: none is.
    server: what is exported for, which drafts and judges in its own way; None: nothing is.
    """

    profile: Profile | None
    server: EngineKind | None


@dataclass(frozen=True)
class Stated:
    """Acceptances, and what belongs to them.

    acceptances: one for each row of a table.
    counted: whether alpha is inferred from counts, as if acceptances were i.i.d.
    draft_sampling, verification: how drafts are made and judged; None: not known.
    notes: what a reader must know of them.
    not_worse: the smallest gamma that was not significantly worse than the best when they were
      measured, at the costs of then; None: not known.
    """

    acceptances: tuple[Acceptance, ...]
    counted: bool = False
    draft_sampling: DraftSampling | None = None
    verification: Verification | None = None
    notes: tuple[str, ...] = ()
    not_worse: int | None = None


@dataclass(frozen=True, kw_only=True)
class AcceptanceKind(Kind):
    """A way to state how often drafts stand.

    make: from its settings to acceptances; what it refuses it raises as a ValueError, or as a
      click.UsageError where options do not fit together.
    """

    make: Callable[[Any, Background], Stated]


@cache
def acceptance_kinds() -> tuple[AcceptanceKind, ...]:
    """Returns all ways, in order."""
    return kinds_of("specplan.options.acceptances")
