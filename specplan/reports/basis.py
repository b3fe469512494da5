"""The origin of a plan's numbers, which its answers show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from estimator.traces.traces import DraftSampling, Verification
    from simulator.acceptance.acceptance import Acceptance
    from simulator.choice.curve import Doubt
    from simulator.choice.plan import Plan


@dataclass(frozen=True, slots=True)
class Basis:
    """Origin of a plan's numbers.

    counted: whether alpha was inferred from counts, assuming i.i.d. acceptances.
    c_hat_is_c: whether c_hat was not stated, so that c replaces it.
    draft_sampling: how drafts are made, from a profile; None if not known.
    verification: how drafts are verified; None if not known.
    quiet: whether the machine was quiet while the profile was measured; None if not known.
    notes: sentences for the reader of the text.
    only: the single γ that a schedule drafts, where the user names one; None: any.
    drafter: as --draft names it; None: a model or head that is not known.
    draft_kind: as `engines.kind.Drafted` names it; None: not stated.
    draft: the draft's name, as the user states it; None: not stated.
    doubt: covariance of measured speed-ups; None if not known.
    other_way: acceptance by a profile's other way of drafting; None: it has none, or one was
      chosen.
    other: the plan by `other_way`; None without it.
    """

    counted: bool = False
    c_hat_is_c: bool = True
    draft_sampling: DraftSampling | None = None
    verification: Verification | None = None
    quiet: bool | None = None
    notes: tuple[str, ...] = ()
    only: int | None = None
    drafter: str | None = None
    draft_kind: str | None = None
    draft: str | None = None
    doubt: Doubt | None = None
    other_way: Acceptance | None = None
    other: Plan | None = None
