"""A profile as acceptance, and as costs for one sequence or by batch size."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from specplan.api.deployed import Loads
from specplan.options.declared import option, rare
from specplan.options.kinds import AcceptanceKind, CostKind

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile
    from specplan.api.recorded import ProfileFile, Recorded


def _profile_file(_ctx: click.Context, _param: click.Parameter, path: Path) -> ProfileFile:
    from specplan.api.recorded import ProfileFile

    return ProfileFile(path)


@dataclass(frozen=True)
class Profiled:
    """A profile.

    profile_path: Acceptance and costs by specplan measure. Other stated costs replace its costs.
    """

    # A ProfileFile; help must not wait for that import.
    profile_path: Any = option(
        "--profile", type=click.Path(path_type=Path), callback=_profile_file, metavar="FILE"
    )

    @property
    def profile(self) -> Profile | None:
        """The profile; None if none is stated."""
        return None if self.profile_path is None else self.profile_path.profile


class ProfileCost(Profiled, CostKind, order=5, needs=("profile_path",)):
    """The costs of a profile for one sequence."""

    def make(self) -> Recorded:
        from specplan.api.recorded import Recorded

        assert self.profile_path is not None
        return Recorded(self.profile_path)


@dataclass(frozen=True)
class ProfileLoads(Loads, Profiled, CostKind, order=6, needs=("profile_path", "batch")):
    """The costs of a profile at the batch sizes of --batch and the contexts of --context."""

    @classmethod
    def missing(cls, given: set[str]) -> list[str]:
        """Returns the needed options that are not given: a context also selects one sequence."""
        either = given | ({"batch"} if "context" in given else set())
        return super().missing(either)

    def make(self) -> Recorded:
        from specplan.api.recorded import Recorded

        assert self.profile_path is not None
        return Recorded(self.profile_path, batch=self.batch, context=self.context)


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

    def make(self) -> Recorded:
        from specplan.api.recorded import Recorded

        assert self.profile_path is not None
        return Recorded(
            self.profile_path,
            draft_sampling=self.draft_sampling,
            lenience=self.lenience,
            verification=self.verification,
        )
