"""Ways to state the same thing, an acceptance or a cost: each a record in a file of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, TypeVar

import click

from estimator.kinds import kinds_in
from specplan.options.requests import is_stated, option_name

if TYPE_CHECKING:
    from engines.kind import EngineKind
    from estimator.profiles.profile import Profile
    from estimator.traces.traces import DraftSampling, Verification
    from simulator.acceptance.acceptance import Acceptance
    from simulator.acceptance.accepted import Accepted
    from simulator.choice.curve import Doubt
    from simulator.cost.pricing import Pricing


@dataclass(frozen=True)
class Kind:
    """One way of several; its fields are the options that it reads (`specplan.options.declared`).

    order: among the others, in help and in messages.
    needs: fields that must be stated; the first of them selects this way.
    instead: for a needed field, the fields that replace it together.
    """

    order: ClassVar[int]
    needs: ClassVar[tuple[str, ...]]
    instead: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})

    @classmethod
    def reads(cls) -> frozenset[str]:
        """Returns the names of its fields."""
        return frozenset(each.name for each in fields(cls))


AnyKind = TypeVar("AnyKind", bound=Kind)


@dataclass(frozen=True)
class Background:
    """Inputs that acceptances and costs share, in addition to their own options.

    profile: the profile to plan from; None: no profile is given.
    server: kind of server to export for, with its own way to draft and judge; None: no export.
    max_gamma: the largest γ to price.
    draft_kind: whose law of acceptance holds beyond what was counted (`rate_prior`); None: not
      known.
    """

    profile: Profile | None
    server: EngineKind | None = None
    max_gamma: int = 0
    draft_kind: str | None = None


@dataclass(frozen=True)
class Stated:
    """Acceptances, and what belongs to them.

    counted: whether alpha is inferred from counts, as if acceptances were i.i.d.
    draft_sampling, verification: how drafts are made and judged; None: not known.
    doubt: doubt of the speed-ups at the costs that were measured with them; None: not known.
    other: the acceptance of the way of drafting that was not chosen, where a profile has both and
      the user names neither.
    """

    acceptances: tuple[Acceptance, ...]
    counted: bool = False
    draft_sampling: DraftSampling | None = None
    verification: Verification | None = None
    notes: tuple[str, ...] = ()
    doubt: Doubt | None = None
    other: Acceptance | None = None


@dataclass(frozen=True)
class AcceptanceKind(Kind, ABC):
    """A way to state how often drafts are accepted."""

    @abstractmethod
    def make(self, background: Background) -> Stated:
        """Returns the acceptances that are stated; refuses what is out of range or does not fit."""


@dataclass(frozen=True)
class CostKind(Kind, ABC):
    """A way to state what blocks cost."""

    @abstractmethod
    def price(self, background: Background) -> tuple[Pricing, ...]:
        """Returns pricings, one for each row of a table; refuses what is out of range."""


def counted(counts: Sequence[Accepted], background: Background) -> Stated:
    """Returns the acceptance that counts give together; what contradicts is noted."""
    from simulator.acceptance.from_counts import from_counts

    found = from_counts(counts, kind=background.draft_kind)
    return Stated((found,), counted=True, notes=found.contradictions)


@cache
def acceptance_kinds() -> tuple[type[AcceptanceKind], ...]:
    """Returns all ways, in order."""
    kinds = kinds_in(["specplan.options.acceptances"], AcceptanceKind)  # type: ignore[type-abstract]
    return tuple(sorted(kinds, key=lambda kind: kind.order))


@cache
def cost_kinds() -> tuple[type[CostKind], ...]:
    """Returns all ways, in order."""
    kinds = kinds_in(["specplan.options.costs"], CostKind)  # type: ignore[type-abstract]
    return tuple(sorted(kinds, key=lambda kind: kind.order))


def prices(stated: CostKind, background: Background) -> tuple[Pricing, ...]:
    """Returns what blocks cost as a user states it, c_hat from the profile where none is known."""
    found = stated.price(background)
    if background.profile is None:
        return found
    c_hat = background.profile.c_hat
    return tuple(each if each.c_hat is not None else replace(each, c_hat=c_hat) for each in found)


def chosen(
    kinds: Sequence[type[AnyKind]], ctx: click.Context, *, shared: Sequence[str] = (), what: str
) -> type[AnyKind]:
    """Returns the way that the stated options select, to state `what`.

    Refuses options that no way reads together, or that lack what their way needs.
    shared: options that do not select a way and may be stated with the options of another way.
    """
    every = {name for kind in kinds for name in kind.reads()}
    given = {name for name in every if is_stated(ctx, name)}
    selecting = [name for name in _declared(ctx, given) if name not in shared]
    able = [kind for kind in kinds if kind.reads() >= set(selecting)]
    if not able:
        raise click.UsageError(_conflict(kinds, ctx, selecting), ctx)
    complete = [kind for kind in able if not _missing(kind, given)]
    if not complete and not selecting:
        least = [kind for kind in kinds if not any(set(kind.needs) > set(k.needs) for k in kinds)]
        ways = ", or ".join(dict.fromkeys(_listed(ctx, kind.needs) for kind in least))
        raise click.UsageError(f"give the {what}: {ways}", ctx)
    kind = (complete or able)[0]
    require(kind, ctx, first=(selecting or kind.needs)[0])
    return kind


def require(kind: type[Kind], ctx: click.Context, *, first: str) -> None:
    """Refuses options where something that the way needs is not stated, or is stated twice."""
    given = {name for name in kind.reads() if is_stated(ctx, name)}
    for name, others in kind.instead.items():
        twice = [other for other in others if other in given]
        if name in given and twice:
            raise click.UsageError(
                f"{named(ctx, name)} cannot be combined with {named(ctx, twice[0])}", ctx
            )
    missing = _missing(kind, given)
    if missing:
        raise click.UsageError(f"{named(ctx, first)} needs {_listed(ctx, missing)}", ctx)


def any_stated(kinds: Sequence[type[Kind]], ctx: click.Context) -> bool:
    """Returns whether a user stated any option of these ways."""
    return any(is_stated(ctx, name) for kind in kinds for name in kind.reads())


def named(ctx: click.Context, name: str) -> str:
    """Returns the option of that name as users state it."""
    return next(option_name(param) for param in ctx.command.params if param.name == name)


def _missing(kind: type[Kind], given: set[str]) -> list[str]:
    missing: list[str] = []
    for name in kind.needs:
        others = kind.instead.get(name, ())
        wanted = others if name not in given and given & set(others) else (name,)
        missing += [each for each in wanted if each not in given]
    return missing


def _declared(ctx: click.Context, names: set[str]) -> list[str]:
    """Returns names in the order in which the command has their options."""
    return [str(param.name) for param in ctx.command.params if param.name in names]


def _conflict(kinds: Sequence[type[Kind]], ctx: click.Context, names: Sequence[str]) -> str:
    """Returns which two options no way reads together, and what the second would need."""
    selectors = {kind.needs[0] for kind in kinds}
    pairs = combinations(sorted(names, key=lambda name: name not in selectors), 2)
    for first, second in pairs:
        if any(kind.reads() >= {first, second} for kind in kinds):
            continue
        refusal = f"{named(ctx, first)} cannot be combined with {named(ctx, second)}"
        if second in selectors:
            return refusal
        needs = dict.fromkeys(kind.needs[0] for kind in kinds if second in kind.reads())
        return f"{refusal}, which needs {' or '.join(named(ctx, name) for name in needs)}"
    return f"{_listed(ctx, names)} cannot be combined"


def _listed(ctx: click.Context, names: Sequence[str]) -> str:
    *most, last = [named(ctx, name) for name in names]
    return f"{', '.join(most)} and {last}" if most else last
