"""The origin of a plan's numbers, which its text and JSON show."""

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
    draft_sampling: whether the profile's drafts are sampled or argmax; None if not known.
    verification: whether drafts are verified by token or by block; None if not known.
    quiet: whether the machine was quiet while the profile was measured; None if not known.
    notes: sentences that the plan's text shows.
    only: the only γ above 0 that a schedule may use, if the user states one; None: any γ.
    drafter: the drafter as --draft names it; None: a model or head that is not known.
    draft_kind: the draft's kind as `engines.kind.Drafted` names it; None: not stated.
    draft: the draft's name, as the user states it; None: not stated.
    doubt: function from γ to the covariance of log speed-ups; None if not known.
    other_way: acceptance if drafts are made in the profile's other way, sampled or argmax; None:
      the profile has one way only, or the user chose one.
    other: the plan with the acceptance `other_way`; None without that acceptance.
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
