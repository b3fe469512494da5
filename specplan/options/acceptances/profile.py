"""The acceptance of a profile, from replaying its traces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import click

from specplan.options.costs.profile import Profiled
from specplan.options.declared import rare
from specplan.options.kinds import AcceptanceKind, Background, Stated
from specplan.reports.output import tell, warn

if TYPE_CHECKING:
    from estimator.traces.traces import DraftSampling, Verification


@dataclass(frozen=True)
class ProfileAcceptance(Profiled, AcceptanceKind):
    """The profile, and which of its acceptances to use; see each option's help."""

    order = 5
    needs = ("profile_path",)

    draft_sampling: Literal["sampled", "argmax"] | None = rare(
        type=click.Choice(["sampled", "argmax"]),
        help="How the server drafts; with --profile.  [default: as the profile was measured, or as "
        "--export's server drafts]",
    )
    lenience: float | None = rare(
        metavar="L", help="Accept leniently: l in (0, 1], 1 is lossless; with --profile."
    )
    verification: Literal["token", "block", "adaptive"] | None = rare(
        type=click.Choice(["token", "block", "adaptive"]),
        help="How the server judges drafts: token by token; as a whole (Sun et al. 2024); or "
        "token by token, but only tokens likely enough to be reached at the load; with --profile.  "
        "[default: the profile's, or what --export's server does]",
    )

    def make(self, background: Background) -> Stated:
        profile = background.profile
        assert profile is not None
        verification = _verification(self, background)
        sampling = _sampling(self, background)
        drafting = profile.drafting(sampling)
        acceptance = drafting.under(verification, background.draft_kind)
        notes = []
        lenience = self.lenience
        if lenience is not None:
            if verification == "block" and lenience != 1:
                raise ValueError(f"lenience must be 1 under block verification, got {lenience:g}")
            from simulator.acceptance.conversions import interpolated_alpha
            from simulator.acceptance.iid import Iid

            alpha = interpolated_alpha(drafting.alpha_by_lenience, lenience=lenience)
            if lenience < 1:
                acceptance = Iid(alpha, drafting.acceptance.observed_gamma)
                notes.append(
                    f"Lenience {lenience:g}: not lossless, a token may come up to {1 / lenience:g} "
                    "times as often\nas in the target's distribution; acceptances are taken as "
                    "i.i.d."
                )
        from estimator.profiles.best import measured_doubt

        as_measured = (
            sampling == profile.draft_sampling
            and verification == profile.verification
            and lenience in (None, 1)
        )
        if acceptance.is_lower_bound:
            notes.append(
                "Counted blocks drafted fewer tokens than their gamma: alpha is a lower bound, and "
                "i.i.d. acceptance cannot be tested."
            )
        if profile.clock.quiet is False:
            notes.append("Measured while the machine was not quiet: do not trust the times.")
        other = None
        if self.draft_sampling is None and background.server is None and lenience is None:
            found = [
                each.under(verification, background.draft_kind)
                for way, each in profile.draftings.items()
                if way != sampling and (verification == "token" or each.blocks_jointly)
            ]
            other = next((each for each in found if each != acceptance), None)
        return Stated(
            (acceptance,),
            draft_sampling=sampling,
            verification=verification,
            notes=tuple(notes),
            doubt=measured_doubt(profile) if as_measured else None,
            other=other,
        )


def _sampling(stated: ProfileAcceptance, background: Background) -> DraftSampling:
    """Returns how drafts are made: as the user states, else the server, else the profile."""
    profile, server = background.profile, background.server
    assert profile is not None
    if stated.draft_sampling is not None:
        return stated.draft_sampling
    exports = None if server is None else server.exports
    served = None if exports is None else exports.draft_sampling
    if server is None or served is None or served == profile.draft_sampling:
        return profile.draft_sampling
    if served not in profile.draftings:
        warn(
            f"{server.name} drafts by {served}; the profile has only {profile.draft_sampling} "
            "drafts"
        )
        return profile.draft_sampling
    tell(f"Planned with {served} drafts, as {server.name} makes them.")
    return served


def _verification(stated: ProfileAcceptance, background: Background) -> Verification:
    """Returns how drafts are verified: as the user states, else the profile if the server can."""
    profile, server = background.profile, background.server
    assert profile is not None
    able = server is None or (server.exports is not None and server.exports.judges_blocks)
    if stated.verification == "block" and not able:
        assert server is not None
        raise ValueError(f"verification must be token for {server.name}, got block")
    if stated.verification is not None:
        return "token" if stated.verification == "adaptive" else stated.verification
    return profile.verification if able else "token"
