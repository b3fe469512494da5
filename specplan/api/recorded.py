"""A profile's costs, for one sequence or by batch size, and the acceptance of its traces."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from estimator.progress import Remark, notice
from simulator.acceptance.acceptance import Acceptance, Iid, Source
from simulator.acceptance.replayed import Replayed
from simulator.acceptance.tokens import interpolated_alpha
from simulator.cost.cost import Cost
from simulator.cost.costs import Costs
from simulator.cost.setting import Load
from specplan.api.deployed import Loads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engines.kind import EngineKind
    from estimator.profiles.profile import Profile
    from estimator.traces.traces import DraftSampling, Verification
    from simulator.acceptance.from_counts import FromCounts


class ProfileFile:
    """A profile that is given, or is read from its file when it is first needed.

    path: the profile's file; None if the profile itself is given.
    """

    def __init__(self, source: str | Path | Profile) -> None:
        self.path = Path(source) if isinstance(source, str | Path) else None
        self._given = None if isinstance(source, str | Path) else source

    @cached_property
    def profile(self) -> Profile:
        """The profile. Raises OSError or ValueError if its file cannot be read."""
        from estimator.profiles.profile_file import read_profile

        if self._given is not None:
            return self._given
        assert self.path is not None
        return read_profile(self.path)


@dataclass(frozen=True)
class Recorded(Loads, Costs):
    """The acceptance and the costs in a profile that `specplan measure` wrote.

    file: the profile, or its file.
    draft_sampling: how the server drafts; None: as the profile was measured, or as the server does.
    lenience: lenience of acceptance, l in (0, 1]; 1 is lossless; None: 1.
    verification: how the server judges drafts; None: as the profile was measured.
    batch, context: loads whose costs to plan with; None: one sequence.
    """

    file: str | Path | Profile | ProfileFile = field(kw_only=False)
    draft_sampling: Literal["sampled", "argmax"] | None = None
    lenience: float | None = None
    verification: Literal["token", "block", "adaptive"] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.file, ProfileFile):
            object.__setattr__(self, "file", ProfileFile(self.file))

    @property
    def profile(self) -> Profile:
        """The profile."""
        assert isinstance(self.file, ProfileFile)
        return self.file.profile

    @property
    def path(self) -> Path | None:
        """The profile's file; None if none is known."""
        assert isinstance(self.file, ProfileFile)
        return self.file.path

    @property
    def contexts(self) -> tuple[int, ...] | None:
        """The stated contexts, or those at which batches were timed if they are several."""
        contexts = super().contexts
        if contexts is not None or self.batch is None:
            return contexts
        timed = tuple(dict.fromkeys(costs.context for costs in self.profile.load))
        return timed if len(timed) > 1 else None

    @property
    def adaptive(self) -> bool:
        """Whether only drafted tokens likely enough to be reached at the load are verified."""
        return self.verification == "adaptive"

    def planned(self, max_gamma: int) -> tuple[Cost, ...]:
        profile, batches = self.profile, self.batches
        if batches is None and self.contexts is not None:
            return self._single(self.contexts)
        if batches is None:
            if profile.cost is None:
                raise ValueError(
                    f"profile{f' {self.path}' if self.path else ''} must hold costs, got only "
                    "acceptance; give them by `c`, or by `target_ms` and `draft_ms`"
                )
            return (profile.cost.with_setting(timed=tuple(profile.improvement_factor)),)
        measured = {(costs.context, costs.batch): costs for costs in profile.load}
        if not measured:
            raise ValueError(
                "profile must hold costs by batch ('specplan measure --batch'), or "
                "`target_config`, `draft_config` and `gpu` be given, got neither"
            )
        contexts = self.contexts or dict.fromkeys(context for context, _ in measured)
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
                batch=batch, load=Load(f"measured on {gpu}", context, gpu, profile.setup.dtype)
            )
            for context, batch in wanted
        )

    def _single(self, contexts: Sequence[int]) -> tuple[Cost, ...]:
        """Returns the costs of one sequence at each context.

        If passes were not timed at all these contexts, the texts' own costs apply to each.
        """
        measured = {costs.context for costs in self.profile.load if costs.batch == 1}
        if measured.issuperset(contexts):
            return replace(self, batch=1).planned(0)
        (cost,), setup = replace(self, context=None).planned(0), self.profile.setup
        gpu = setup.device or "its machine"
        load = Load(f"measured on {gpu}, at the texts' own contexts", 0, gpu, setup.dtype)
        return tuple(cost.with_setting(load=replace(load, context=tokens)) for tokens in contexts)

    def at(self, batch: int, context: int | None = None, *, max_gamma: int = 32) -> Cost:
        return replace(self, batch=batch, context=context).planned(max_gamma)[0]

    def under_load(self, slots: int, context: int, *, max_gamma: int) -> tuple[Cost, ...]:
        batches = tuple(sorted({costs.batch for costs in self.profile.load}))
        return replace(self, batch=batches or self.batch).planned(max_gamma)

    def with_batches(self, batches: Sequence[int]) -> Recorded:
        return replace(self, batch=tuple(batches))

    def acceptance(
        self,
        draft_class: str | None = None,
        server: EngineKind | None = None,
        *,
        contexts: Sequence[int] | None = None,
    ) -> Acceptance:
        """Returns the acceptance of drafts as they were measured, or as a server makes them.

        draft_class: selects the prior of rates at longer drafts; None: not known.
        contexts: contexts to plan for; None: the mean acceptance of all contexts, at each of them.
        """
        profile, lenience = self.profile, self.lenience
        verification, sampling = self._verified(server), self._sampled(server)
        drafting = profile.drafting(sampling)
        acceptance: Iid | Replayed | FromCounts = drafting.under(verification, draft_class)
        notes = []
        if lenience is not None:
            if verification == "block" and lenience != 1:
                raise ValueError(f"lenience must be 1 under block verification, got {lenience:g}")
            alpha = interpolated_alpha(drafting.alpha_by_lenience, lenience=lenience)
            if lenience < 1:
                acceptance = Iid(alpha, drafting.acceptance.observed_gamma)
                notes.append(
                    f"Lenience {lenience:g}: not lossless, a token may come up to {1 / lenience:g} "
                    "times as often\nas in the target's distribution; acceptances taken as i.i.d."
                )
        if acceptance.is_lower_bound:
            notes.append(
                "Counted blocks drafted fewer tokens than their gamma: alpha is a lower bound, and "
                "i.i.d. acceptance cannot be tested."
            )
        if profile.clock.quiet is False:
            notes.append("Measured while the machine was not quiet: do not trust the times.")
        source = Source(
            draft_sampling=sampling,
            verification=verification,
            temperature=profile.setup.sampling.get("temperature"),
            quiet=profile.clock.quiet,
            notes=tuple(notes),
            recorded=profile.setup.recorded,
        )
        if contexts is None and isinstance(acceptance, Replayed):
            acceptance = replace(acceptance, by_context=())
        return replace(acceptance, source=source)

    def as_measured(self, acceptance: Acceptance) -> bool:
        """Returns whether `acceptance`, one of this profile, is of drafts as they were timed."""
        profile, source = self.profile, acceptance.source
        timed = (profile.draft_sampling, profile.verification)
        return (source.draft_sampling, source.verification) == timed and self.lenience in (None, 1)

    def other_way(
        self, acceptance: Acceptance, draft_class: str | None, server: EngineKind | None
    ) -> Acceptance | None:
        """Returns the acceptance of drafts that are sampled the other way than in `acceptance`.

        None: the profile has no such drafts, or the user or the server chose a way.
        """
        # A server whose flags state how it drafts chooses no way.
        chosen = server is not None and (server.exports is None or server.exports.draft_sampling)
        if chosen or (self.draft_sampling, self.lenience) != (None, None):
            return None
        of = acceptance.source.verification
        for way, drafting in self.profile.draftings.items():
            if of is None or way == acceptance.source.draft_sampling:
                continue
            if of == "token" or drafting.blocks_jointly:
                other = drafting.under(of, draft_class)
                if other != acceptance:
                    return replace(other, source=replace(acceptance.source, draft_sampling=way))
        return None

    def _sampled(self, server: EngineKind | None) -> DraftSampling:
        """Returns the stated draft sampling, else the server's if profiled, else the profile's."""
        profile = self.profile
        if self.draft_sampling is not None:
            return self.draft_sampling
        exports = None if server is None else server.exports
        served = None if exports is None else exports.draft_sampling
        if server is None or served in (None, profile.draft_sampling) or profile.drafts_alike:
            return profile.draft_sampling
        if served not in profile.draftings:
            notice(
                f"{server.name} drafts by {served}; the profile has only {profile.draft_sampling} "
                "drafts"
            )
            return profile.draft_sampling
        notice(f"Planned with {served} drafts, as {server.name} makes them.", Remark)
        return served

    def _verified(self, server: EngineKind | None) -> Verification:
        """Returns the stated or the profile's verification; "token" if the server has no other."""
        able = server is None or (server.exports is not None and server.exports.judges_blocks)
        if self.verification == "block" and server is not None and not able:
            raise ValueError(f"verification must be token for {server.name}, got block")
        if self.verification is not None:
            return "token" if self.verification == "adaptive" else self.verification
        return self.profile.verification if able else "token"
