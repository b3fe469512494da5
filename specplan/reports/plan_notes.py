"""What a reader of a plan must know of where its numbers come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specplan.reports.deployment import machine, overhead_notes

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile
    from simulator.acceptance.acceptance import Acceptance
    from specplan.reports.pricing import Pricing


def basis_notes(
    price: Pricing,
    acceptance: Acceptance,
    *,
    lenience: float | None,
    profile: Profile | None,
    rows: int,
) -> tuple[str, ...]:
    """Returns what a reader must know of where the numbers come from.

    Args:
      price: the costs, the first of several.
      acceptance: what is planned with.
      lenience: as the user stated it.
      profile: the file that is planned from, if one is.
      rows: of the table; a single plan tells of its load itself.
    """
    notes = []
    if price.load is not None and rows > 1:
        load = price.load
        draft = "" if load.draft_kind == "model" else f", drafted by {load.draft_kind}"
        roofline = (
            f"Costs by the roofline of {machine(load.gpu, load.tp)}{draft}: trust ratios more than "
            "tokens per second."
        )
        notes.append(f"Costs measured on {load.gpu}." if load.measured else roofline)
        notes += overhead_notes(load)
    if lenience is not None and lenience < 1:
        notes.append(
            f"Lenience {lenience:g}: not lossless, a token may come up to {1 / lenience:g} times "
            "as often\nas the target's law has it; acceptances are taken as i.i.d."
        )
    if acceptance.is_lower_bound:
        notes.append(
            "Counted blocks drafted fewer tokens than their gamma: alpha is at least that, and "
            "whether acceptances are i.i.d. does not show."
        )
    if profile is not None and profile.recommended_gamma is not None:
        notes.append(
            f"As far as its prompts tell, gamma {profile.recommended_gamma} is not worse than the "
            "best there."
        )
    if profile is not None and profile.quiet is False:
        notes.append("Measured while the machine was not quiet: trust none of the times.")
    return tuple(notes)
