"""Ways to state an acceptance or a cost: each is a record in a file of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import click

from estimator.kinds import kinds_in
from specplan.options.requests import fill, is_stated, option_name

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
    """One of several ways to state an input; its fields are the options that it reads.

    order: its place in help and in messages.
    needs: fields that must be stated; the first field selects this way.
    instead: for a needed field, the fields that together replace it.
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

    profile: the profile to plan from; None if there is none.
    server: the engine to export for, which decides how drafts are made; None: no export.
    max_gamma: the largest γ to price.
    draft_kind: kind of draft that selects the prior of acceptance (`rate_prior`); None if unknown.
    """

    profile: Profile | None
    server: EngineKind | None = None
    max_gamma: int = 0
    draft_kind: str | None = None


@dataclass(frozen=True)
class Stated:
    """The acceptances that a user's options give, and what is known about them.

    counted: whether alpha is inferred from counts, assuming i.i.d. acceptances.
    draft_sampling, verification: how drafts are made and verified; None if not known.
    notes: remarks for the answer.
    doubt: covariance of measured speed-ups; None if not known.
    other: the acceptance of the other draft sampling, if a profile has both and the user names
      neither.
    """

    acceptances: tuple[Acceptance, ...]
    counted: bool = False
    draft_sampling: DraftSampling | None = None
    verification: Verification | None = None
    notes: tuple[str, ...] = ()
    doubt: Doubt | None = None
    other: Acceptance | None = None


class AcceptanceKind(Kind, ABC):
    """A way to state how often drafted tokens are accepted.

    Example: `alpha.Alpha` has `needs = ("alpha",)`, a field `alpha = option("--alpha", ...)`, and
      `make` that returns `Stated(tuple(Iid(alpha) for alpha in self.alpha))`.
    """

    @abstractmethod
    def make(self, background: Background) -> Stated:
        """Returns the stated acceptances; refuses values out of range."""


class CostKind(Kind, ABC):
    """A way to state the cost of blocks.

    Example: `ratio.Ratios` has `needs = ("c",)`, a field `c = option(...)`, and `price` that
      returns `tuple(Pricing(Ratio(c)) for c in self.c)`.
    """

    @abstractmethod
    def price(self, background: Background) -> tuple[Pricing, ...]:
        """Returns pricings, one for each row of a table; refuses values out of range."""


def counted(counts: Sequence[Accepted], background: Background) -> Stated:
    """Returns the acceptance estimated from counts, with notes on contradictions."""
    from simulator.acceptance.from_counts import from_counts

    found = from_counts(counts, kind=background.draft_kind)
    return Stated((found,), counted=True, notes=found.contradictions)


@cache
def acceptance_kinds() -> tuple[type[AcceptanceKind], ...]:
    """Returns all ways to state acceptance, in order."""
    kinds = kinds_in(["specplan.options.acceptances"], AcceptanceKind)  # type: ignore[type-abstract]
    return tuple(sorted(kinds, key=lambda kind: kind.order))


@cache
def cost_kinds() -> tuple[type[CostKind], ...]:
    kinds = kinds_in(["specplan.options.costs"], CostKind)  # type: ignore[type-abstract]
    return tuple(sorted(kinds, key=lambda kind: kind.order))


def prices(stated: CostKind, background: Background) -> tuple[Pricing, ...]:
    """Returns the stated pricings. A missing c_hat is taken from the profile."""
    runs = getattr(stated, "runs", None)
    if runs:
        from simulator.cost.fitted.runs import require_consistent

        require_consistent(runs)
    found = stated.price(background)
    if background.profile is None:
        return found
    c_hat = background.profile.c_hat
    return tuple(each if each.c_hat is not None else replace(each, c_hat=c_hat) for each in found)


def chosen(
    kinds: Sequence[type[AnyKind]], ctx: click.Context, *, shared: Sequence[str] = (), what: str
) -> type[AnyKind]:
    """Returns the way that the stated options select; `what` names the input in messages.

    Raises a usage error if no way reads these options together, or a needed option is missing.
    shared: options that do not select a way and that other ways allow.
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


def chosen_cost(ctx: click.Context) -> type[CostKind]:
    """Returns the way to state a cost that the options select."""
    return chosen(cost_kinds(), ctx, shared=("profile_path",), what="cost")


def filled(ctx: click.Context, *records: type) -> list[Any]:
    """Returns the stated acceptance, the stated cost, and further records of options."""
    accepting = chosen(acceptance_kinds(), ctx, shared=("runs",), what="acceptance")
    return fill(ctx, [accepting, chosen_cost(ctx), *records])


def require(kind: type[Kind], ctx: click.Context, *, first: str) -> None:
    """Raises a usage error if an option that the way needs is missing or stated twice."""
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
    """Returns whether the user stated any option of these ways."""
    return any(is_stated(ctx, name) for kind in kinds for name in kind.reads())


def named(ctx: click.Context, name: str) -> str:
    """Returns an option's name on the command line."""
    return next(option_name(param) for param in ctx.command.params if param.name == name)


def _missing(kind: type[Kind], given: set[str]) -> list[str]:
    missing: list[str] = []
    for name in kind.needs:
        others = kind.instead.get(name, ())
        wanted = others if name not in given and given & set(others) else (name,)
        missing += [each for each in wanted if each not in given]
    return missing


def _declared(ctx: click.Context, names: set[str]) -> list[str]:
    """Returns names in the order of the command's options."""
    return [str(param.name) for param in ctx.command.params if param.name in names]


def _conflict(kinds: Sequence[type[Kind]], ctx: click.Context, names: Sequence[str]) -> str:
    """Returns a message about two options that no way reads together."""
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
