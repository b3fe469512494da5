"""The acceptance of a profile, from replaying its traces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import click

from specplan.options.costs.profile import Profiled
from specplan.options.declared import rare
from specplan.options.kinds import AcceptanceKind, Made, Server
from specplan.reports.output import tell, warn

if TYPE_CHECKING:
    from engines.kind import EngineKind
    from estimator.profiles.profile import Profile
    from estimator.traces.traces import DraftSampling, Verification


@dataclass(frozen=True)
class ProfileAcceptance(Profiled, AcceptanceKind, order=5, needs=("profile_path",)):
    """The profile, and which of its acceptances to use.

    draft_sampling: How the server drafts; with --profile.  [default: as the profile was measured,
      or as --export's server drafts]
    lenience: Accept leniently: l in (0, 1], 1 is lossless; with --profile.
    verification: How the server judges drafts: token by token; as a whole (Sun et al. 2024); or
      token by token, but only tokens likely enough to be reached at the load; with --profile.
      [default: the profile's, or what --export's server does]
    """

    draft_sampling: Literal["sampled", "argmax"] | None = rare(
        type=click.Choice(["sampled", "argmax"])
    )
    lenience: float | None = rare(metavar="L")
    verification: Literal["token", "block", "adaptive"] | None = rare(
        type=click.Choice(["token", "block", "adaptive"])
    )

    def make(self, draft_kind: str | None, server: Server) -> Made:
        from estimator.profiles.best import measured_doubt
        from specplan.reports.basis import Basis

        profile, lenience = self.profile, self.lenience
        assert profile is not None
        verification = self._verified(profile, server)
        sampling = self._sampled(profile, server)
        drafting = profile.drafting(sampling)
        acceptance = drafting.under(verification, draft_kind)
        notes = []
        if lenience is not None:
            if verification == "block" and lenience != 1:
                raise ValueError(f"lenience must be 1 under block verification, got {lenience:g}")
            from simulator.acceptance.acceptance import Iid
            from simulator.acceptance.tokens import interpolated_alpha

            alpha = interpolated_alpha(drafting.alpha_by_lenience, lenience=lenience)
            if lenience < 1:
                acceptance = Iid(alpha, drafting.acceptance.observed_gamma)
                notes.append(
                    f"Lenience {lenience:g}: not lossless, a token may come up to {1 / lenience:g} "
                    "times as often\nas in the target's distribution; acceptances are taken as "
                    "i.i.d."
                )
        if acceptance.is_lower_bound:
            notes.append(
                "Counted blocks drafted fewer tokens than their gamma: alpha is a lower bound, and "
                "i.i.d. acceptance cannot be tested."
            )
        if profile.clock.quiet is False:
            notes.append("Measured while the machine was not quiet: do not trust the times.")
        others = (
            each.under(verification, draft_kind)
            for way, each in profile.draftings.items()
            if way != sampling and (verification == "token" or each.blocks_jointly)
        )
        chosen = (self.draft_sampling, server, lenience) != (None, None, None)
        as_measured = (sampling, verification) == (profile.draft_sampling, profile.verification)
        return (acceptance,), Basis(
            draft_sampling=sampling,
            verification=verification,
            notes=tuple(notes),
            doubt=measured_doubt(profile) if as_measured and lenience in (None, 1) else None,
            other_way=None if chosen else next((e for e in others if e != acceptance), None),
        )

    def _sampled(self, profile: Profile, server: EngineKind | None) -> DraftSampling:
        """Returns the stated draft sampling, else the server's default, else the profile's."""
        if self.draft_sampling is not None:
            return self.draft_sampling
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

    def _verified(self, profile: Profile, server: EngineKind | None) -> Verification:
        """Returns the stated verification, else the profile's; by token if the server needs it."""
        able = server is None or (server.exports is not None and server.exports.judges_blocks)
        if self.verification == "block" and server is not None and not able:
            raise ValueError(f"verification must be token for {server.name}, got block")
        if self.verification is not None:
            return "token" if self.verification == "adaptive" else self.verification
        return profile.verification if able else "token"
