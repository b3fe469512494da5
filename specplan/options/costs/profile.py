"""The costs in a profile, for one sequence or by batch size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simulator.cost.pricing import Load, Pricing
from specplan.options.declared import option
from specplan.options.deployment import Loads
from specplan.options.kinds import CostKind

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile


class ProfileFile:
    """A profile that is read from its file when it is first needed, or was read before.

    path: the profile's file; None if the profile was read before.
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

    profile_path: Acceptance and costs by specplan measure. Other costs go before its own.
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
    """The profile with costs of one sequence."""

    def price(self, max_gamma: int) -> tuple[Pricing, ...]:
        profile = self.profile
        if profile is None or profile.cost is None:
            raise ValueError(
                f"profile{f' {self.path}' if self.path else ''} must hold costs, got only "
                "acceptance; give them by --c, or by --target-ms and --draft-ms"
            )
        return (Pricing(profile.cost, timed=tuple(profile.improvement_factor)),)


@dataclass(frozen=True)
class MeasuredLoads(Loads, Profiled, CostKind, order=6, needs=("profile_path", "batch")):
    """The profile, the batch sizes and the context to use; see each option's help."""

    def price(self, max_gamma: int) -> tuple[Pricing, ...]:
        profile, batches = self.profile, self.batch
        assert profile is not None
        assert batches is not None
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
            Pricing(
                profile.cost_of(measured[context, batch]),
                batch=batch,
                load=Load(f"measured on {gpu}", context, gpu, profile.setup.dtype),
            )
            for context, batch in wanted
        )
