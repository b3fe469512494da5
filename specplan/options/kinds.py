"""Ways to state the same thing, an acceptance or a cost: each a file that registers itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import click

from estimator.kinds import modules_in
from specplan.options.requests import is_stated, option_name

if TYPE_CHECKING:
    from engines.kind import EngineKind
    from estimator.profiles.profile import Profile
    from estimator.traces.traces import DraftSampling, Verification
    from simulator.acceptance.acceptance import Acceptance
    from simulator.cost.pricing import Pricing


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One way of several.

    order: among the others, in help and in messages.
    settings: a record whose fields are the options that it reads (`specplan.options.declared`).
    needs: those fields that must be stated; the first of them selects this way.
    instead: fields that stand together in place of one that is needed.
    """

    order: int
    settings: type[Any]
    needs: tuple[str, ...]
    instead: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def reads(self) -> frozenset[str]:
        """The fields of its settings."""
        return frozenset(each.name for each in fields(self.settings))


@dataclass(frozen=True)
class Background:
    """What acceptances and costs are made from beside their own options.

    profile: the file that is planned from; None: none is.
    server: what is exported for, which drafts and judges in its own way; None: nothing is.
    max_gamma: the largest γ to price.
    """

    profile: Profile | None
    server: EngineKind | None = None
    max_gamma: int = 0


@dataclass(frozen=True)
class Stated:
    """Acceptances, and what belongs to them.

    acceptances: one for each row of a table.
    counted: whether alpha is inferred from counts, as if acceptances were i.i.d.
    draft_sampling, verification: how drafts are made and judged; None: not known.
    notes: what a reader must know of them.
    not_worse: the smallest gamma that was not significantly worse than the best when they were
      measured, at the costs of then; None: not known.
    """

    acceptances: tuple[Acceptance, ...]
    counted: bool = False
    draft_sampling: DraftSampling | None = None
    verification: Verification | None = None
    notes: tuple[str, ...] = ()
    not_worse: int | None = None


@dataclass(frozen=True, kw_only=True)
class AcceptanceKind(Kind):
    """A way to state how often drafts stand.

    make: from its settings to acceptances; what it refuses it raises as a ValueError, or as a
      click.UsageError where options do not fit together.
    """

    make: Callable[[Any, Background], Stated]


@dataclass(frozen=True, kw_only=True)
class CostKind(Kind):
    """A way to state what blocks cost.

    price: from its settings to one pricing or several, one for each row of a table; what it refuses
      it raises as a ValueError, or as a click.UsageError where options do not fit together.
    """

    price: Callable[[Any, Background], tuple[Pricing, ...]]


@cache
def acceptance_kinds() -> tuple[AcceptanceKind, ...]:
    """Returns all ways, in order."""
    return kinds_of("specplan.options.acceptances")


@cache
def cost_kinds() -> tuple[CostKind, ...]:
    """Returns all ways, in order."""
    return kinds_of("specplan.options.costs")


def prices(kind: CostKind, settings: Any, background: Background) -> tuple[Pricing, ...]:
    """Returns what blocks cost as a user states it, c_hat from the profile where none is known.

    Raises:
      click.UsageError, OSError, ValueError: as the way does.
    """
    found = kind.price(settings, background)
    if background.profile is None:
        return found
    c_hat = background.profile.c_hat
    return tuple(each if each.c_hat is not None else replace(each, c_hat=c_hat) for each in found)


def settings_of(kinds: Sequence[Kind]) -> list[type[Any]]:
    """Returns the records of all ways."""
    return [kind.settings for kind in kinds]


def kinds_of(folder: str) -> tuple[Any, ...]:
    """Returns the `KIND` of each module of a package, given by its dotted name, in their order."""
    found = [module.KIND for module in modules_in(folder)]
    return tuple(sorted(found, key=lambda kind: kind.order))


def chosen(
    kinds: Sequence[Any], ctx: click.Context, *, beside: Sequence[str] = (), what: str
) -> Any:
    """Returns the way that the stated options select, to state `what`.

    beside: options that do not select a way alone, and may be stated beside another's.

    Raises:
      click.UsageError: if no way reads all that is stated, or what it needs is not.
    """
    every = {name for kind in kinds for name in kind.reads}
    given = {name for name in every if is_stated(ctx, name)}
    selecting = [name for name in _declared(ctx, given) if name not in beside]
    able = [kind for kind in kinds if kind.reads >= set(selecting)]
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


def require(kind: Kind, ctx: click.Context, *, first: str) -> None:
    """Refuses options that lack what they need.

    Raises:
      click.UsageError: if something that the way needs is not stated, or is stated twice.
    """
    given = {name for name in kind.reads if is_stated(ctx, name)}
    for name, others in kind.instead.items():
        twice = [other for other in others if other in given]
        if name in given and twice:
            raise click.UsageError(
                f"{named(ctx, name)} cannot be combined with {named(ctx, twice[0])}", ctx
            )
    missing = _missing(kind, given)
    if missing:
        raise click.UsageError(f"{named(ctx, first)} needs {_listed(ctx, missing)}", ctx)


def any_stated(kinds: Sequence[Kind], ctx: click.Context) -> bool:
    """Returns whether a user stated any option of these ways."""
    return any(is_stated(ctx, name) for kind in kinds for name in kind.reads)


def named(ctx: click.Context, name: str) -> str:
    """Returns the option of that name as users state it."""
    return next(option_name(param) for param in ctx.command.params if param.name == name)


def _missing(kind: Kind, given: set[str]) -> list[str]:
    missing: list[str] = []
    for name in kind.needs:
        others = kind.instead.get(name, ())
        wanted = others if name not in given and given & set(others) else (name,)
        missing += [each for each in wanted if each not in given]
    return missing


def _declared(ctx: click.Context, names: set[str]) -> list[str]:
    """Returns names in the order in which the command has their options."""
    return [str(param.name) for param in ctx.command.params if param.name in names]


def _conflict(kinds: Sequence[Kind], ctx: click.Context, names: Sequence[str]) -> str:
    """Returns which two options no way reads together, and what the second would need."""
    selectors = {kind.needs[0] for kind in kinds}
    pairs = combinations(sorted(names, key=lambda name: name not in selectors), 2)
    for first, second in pairs:
        if any(kind.reads >= {first, second} for kind in kinds):
            continue
        refusal = f"{named(ctx, first)} cannot be combined with {named(ctx, second)}"
        if second in selectors:
            return refusal
        needs = dict.fromkeys(kind.needs[0] for kind in kinds if second in kind.reads)
        return f"{refusal}, which needs {' or '.join(named(ctx, name) for name in needs)}"
    return f"{_listed(ctx, names)} cannot be combined"


def _listed(ctx: click.Context, names: Sequence[str]) -> str:
    *most, last = [named(ctx, name) for name in names]
    return f"{', '.join(most)} and {last}" if most else last
