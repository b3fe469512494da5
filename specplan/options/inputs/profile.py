"""A profile's costs, for one sequence or by batch size, and the acceptance of its traces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from simulator.cost.setting import Load
from specplan.options.command import option, rare
from specplan.options.deployment import Loads
from specplan.options.kinds import AcceptanceKind, CostKind, Made, Server
from specplan.reports.output import print_note, warn

if TYPE_CHECKING:
    from engines.kind import EngineKind
    from estimator.profiles.profile import Profile
    from estimator.traces.traces import DraftSampling, Verification
    from simulator.acceptance.acceptance import Acceptance
    from simulator.cost.cost import Cost


class ProfileFile:
    """A profile that is given, or is read from its file when it is first needed.

    path: the profile's file; None if the profile itself is given.
    """

    def __init__(self, source: Path | Profile) -> None:
        self.path = source if isinstance(source, Path) else None
        self._source = source

    @cached_property
    def profile(self) -> Profile:
        """The profile. Raises OSError or ValueError if its file cannot be read."""
        if not isinstance(self._source, Path):
            return self._source
        from estimator.profiles.profile_file import read_profile

        return read_profile(self._source)


@dataclass(frozen=True)
class Profiled:
    """A profile.

    profile_path: Acceptance and costs by specplan measure. Other stated costs replace its costs.
    """

    profile_path: ProfileFile | None = option(
        "--profile",
        type=click.Path(path_type=Path),
        callback=lambda _ctx, _param, value: ProfileFile(value),
        metavar="FILE",
    )

    @property
    def profile(self) -> Profile | None:
        """The profile; None if none is stated."""
        return None if self.profile_path is None else self.profile_path.profile

    @property
    def path(self) -> Path | None:
        """The profile's file; None if none is known."""
        return None if self.profile_path is None else self.profile_path.path


class OfProfile(Profiled, CostKind, order=5, needs=("profile_path",)):
    """The costs of a profile for one sequence."""

    def price(self, max_gamma: int) -> tuple[Cost, ...]:
        profile = self.profile
        if profile is None or profile.cost is None:
            raise ValueError(
                f"profile{f' {self.path}' if self.path else ''} must hold costs, got only "
                "acceptance; give them by --c, or by --target-ms and --draft-ms"
            )
        return (profile.cost.with_setting(timed=tuple(profile.improvement_factor)),)


@dataclass(frozen=True)
class MeasuredLoads(Loads, Profiled, CostKind, order=6, needs=("profile_path", "batch")):
    """The costs of a profile at the batch sizes of --batch and the contexts of --context."""

    def price(self, max_gamma: int) -> tuple[Cost, ...]:
        profile, batches = self.profile, self.batch or ()
        assert profile is not None
        measured = {(costs.context, costs.batch): costs for costs in profile.load}
        if not measured:
            raise ValueError(
                "profile must hold costs by batch ('specplan measure --batch'), or "
                "--target-config, --draft-config and --gpu be given, got neither"
            )
        contexts = self.context or dict.fromkeys(context for context, _ in measured)
        wanted = [(context, batch) for context in contexts for batch in batches]
        for context, batch in wanted:
            if (context, batch) not in measured:
                known = ", ".join(f"{b} at context {c}" for c, b in measured)
                raise ValueError(
                    f"batch must be one that the profile was measured at ({known}), got {batch} at "
                    f"context {context}"
                )
        gpu = profile.setup.device or "its machine"
        return tuple(
            profile.cost_of(measured[context, batch]).with_setting(
                batch=batch,
                load=Load(f"measured on {gpu}", context, gpu, profile.setup.dtype),
            )
            for context, batch in wanted
        )


@dataclass(frozen=True)
class ProfileAcceptance(Profiled, AcceptanceKind, order=5, needs=("profile_path",)):
    """The profile, and which of its acceptances to use.

    draft_sampling: How the server drafts; with --profile.  [default: as the profile was measured,
      or as --export's server drafts]
    lenience: Lenience of acceptance, l in (0, 1]; 1 is lossless. Needs --profile.
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
        from specplan.reports.plan import Origin

        profile, lenience = self.profile, self.lenience
        assert profile is not None
        verification = self._verified(profile, server)
        sampling = self._sampled(profile, server)
        drafting = profile.drafting(sampling)
        acceptance: Acceptance = drafting.under(verification, draft_kind)
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
        return (acceptance,), Origin(
            draft_sampling=sampling,
            verification=verification,
            notes=tuple(notes),
            doubt=measured_doubt(profile) if as_measured and lenience in (None, 1) else None,
            other_way=None if chosen else next((e for e in others if e != acceptance), None),
        )

    def _sampled(self, profile: Profile, server: EngineKind | None) -> DraftSampling:
        """Returns the stated draft sampling, else the server's if profiled, else the profile's."""
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
        print_note(f"Planned with {served} drafts, as {server.name} makes them.")
        return served

    def _verified(self, profile: Profile, server: EngineKind | None) -> Verification:
        """Returns the stated or the profile's verification; "token" if the server has no other."""
        able = server is None or (server.exports is not None and server.exports.judges_blocks)
        if self.verification == "block" and server is not None and not able:
            raise ValueError(f"verification must be token for {server.name}, got block")
        if self.verification is not None:
            return "token" if self.verification == "adaptive" else self.verification
        return profile.verification if able else "token"
