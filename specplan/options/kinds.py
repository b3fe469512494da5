"""Ways to state an acceptance or a cost: each is a record, and the stated options select one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import click

from specplan.options.command import fill, is_stated, option_name
from specplan.options.declared import option
from specplan.options.values import numbers, shares

if TYPE_CHECKING:
    from simulator.cost.costs import Costs
    from specplan.api.request import AcceptanceInput


@dataclass(frozen=True)
class Kind:
    """One of several ways to state an input. The fields of a subclass are its options.

    order: place of this way in help and in messages.
    needs: options that must be stated; the first one selects this way.
    instead: for a needed option, the options that together replace it.
    wants: for a needed option, what its value is, for the message where it is missing.
    """

    order: ClassVar[int]
    needs: ClassVar[tuple[str, ...]]
    instead: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
    wants: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def __init_subclass__(cls, **facts: Any) -> None:
        for name, fact in facts.items():
            setattr(cls, name, fact)

    @classmethod
    def reads(cls) -> frozenset[str]:
        """Returns the names of this way's options."""
        return frozenset(part.name for part in fields(cls))

    @classmethod
    def missing(cls, given: set[str]) -> list[str]:
        """Returns the names of needed options that are not given, nor replaced by `instead`."""
        absent = [name for name in cls.needs if name not in given]
        others = {n: cls.instead[n] for n in absent if given & set(cls.instead.get(n, ()))}
        return [name for n in absent for name in others.get(n, (n,)) if name not in given]


AnyKind = TypeVar("AnyKind", bound=Kind)


class AcceptanceKind(Kind, ABC):
    """A way to state acceptance: `RateOptions`, for example, makes an `Iid` of --alpha."""

    @abstractmethod
    def make(self) -> AcceptanceInput:
        """Returns the stated acceptances, or the stated profile."""


class CostKind(Kind, ABC):
    """A way to state the cost of blocks: `RatioOptions`, for example, makes a `Ratio` of --c."""

    @abstractmethod
    def make(self) -> Costs:
        """Returns the stated costs."""


@dataclass(frozen=True)
class RateOptions(AcceptanceKind, order=1, needs=("alpha",)):
    """One or several acceptance rates alpha.

    alpha: Acceptance rate alpha in [0, 1].
    """

    alpha: tuple[float, ...] = option(callback=shares, metavar="A")

    def make(self) -> AcceptanceInput:
        from simulator.acceptance.acceptance import Iid

        return tuple(Iid(alpha) for alpha in self.alpha)


@dataclass(frozen=True)
class RatioOptions(CostKind, order=1, needs=("c",)):
    """One or several ratios c of Theorem 8 (Leviathan et al. 2023).

    c: Draft step time over target step time, instead of the times below.
    """

    c: tuple[float, ...] = option(callback=numbers, metavar="C")

    def make(self) -> Costs:
        from simulator.cost.cost import Ratio
        from simulator.cost.costs import StatedCosts

        return StatedCosts(tuple(Ratio(c) for c in self.c))


def acceptance_kinds() -> list[type[AcceptanceKind]]:
    """Returns all ways to state acceptance, in order."""
    return _known(AcceptanceKind)  # type: ignore[type-abstract]


def cost_kinds() -> list[type[CostKind]]:
    return _known(CostKind)  # type: ignore[type-abstract]


def _known(of: type[AnyKind]) -> list[type[AnyKind]]:
    import specplan.options.inputs  # noqa: F401 - defines all but the first kinds

    kinds = [kind for kind in of.__subclasses__() if hasattr(kind, "order")]
    return sorted(kinds, key=lambda kind: kind.order)


def chosen(
    kinds: Sequence[type[AnyKind]], ctx: click.Context, *, shared: Sequence[str] = (), what: str
) -> type[AnyKind]:
    """Returns which of `kinds`, the ways to state an input, the stated options select.

    shared: options that do not select a way, and that may be given together with any way.
    what: name of the input in messages.
    """
    given = {name for kind in kinds for name in kind.reads() if is_stated(ctx, name)}
    named = [str(param.name) for param in ctx.command.params if param.name in given]
    selecting = [name for name in named if name not in shared]
    able = [kind for kind in kinds if kind.reads() >= set(selecting)]
    if not able:
        raise click.UsageError(_conflict(kinds, ctx, selecting), ctx)
    complete = [kind for kind in able if not kind.missing(given)]
    if not complete and not selecting:
        least = [kind for kind in kinds if not any(set(kind.needs) > set(k.needs) for k in kinds)]
        ways = ", or ".join(dict.fromkeys(_listed(ctx, kind.needs) for kind in least))
        raise click.UsageError(f"give the {what}: {ways}", ctx)
    kind = (complete or able)[0]
    require(kind, ctx, first=(selecting or kind.needs)[0])
    return kind


def chosen_cost(ctx: click.Context) -> type[CostKind]:
    return chosen(cost_kinds(), ctx, shared=("profile_path", "draft_sampling"), what="cost")


def filled(ctx: click.Context, *records: type) -> list[Any]:
    """Returns the stated acceptance, the stated cost, and further records of options."""
    shared = ("runs", "draft_sampling")
    kinds = (chosen(acceptance_kinds(), ctx, shared=shared, what="acceptance"), chosen_cost(ctx))
    if is_stated(ctx, "draft_sampling") and not any("draft_sampling" in k.reads() for k in kinds):
        raise click.UsageError("--draft-sampling needs --profile or --target-config", ctx)
    return fill(ctx, [*kinds, *records])


def require(kind: type[Kind], ctx: click.Context, *, first: str) -> None:
    """Raises a usage error if a needed option is missing, or is stated together with `instead`."""
    given = {name for name in kind.reads() if is_stated(ctx, name)}
    for name, others in kind.instead.items():
        twice = [other for other in others if other in given and name in given]
        if twice:
            both = " cannot be combined with ".join(_named(ctx, e) for e in (name, twice[0]))
            raise click.UsageError(both, ctx)
    if missing := kind.missing(given):
        only = missing[0] if len(missing) == 1 else ""
        wanted = f": {kind.wants[only]}" if only in kind.wants else ""
        raise click.UsageError(f"{_named(ctx, first)} needs {_listed(ctx, missing)}{wanted}", ctx)


def _named(ctx: click.Context, name: str) -> str:
    return next(option_name(param) for param in ctx.command.params if param.name == name)


def _conflict(kinds: Sequence[type[Kind]], ctx: click.Context, names: Sequence[str]) -> str:
    """Returns the error message for options of which no kind reads all."""
    selectors = {kind.needs[0] for kind in kinds}
    pairs = combinations(sorted(names, key=lambda name: name not in selectors), 2)
    for first, second in pairs:
        if any(kind.reads() >= {first, second} for kind in kinds):
            continue
        refusal = f"{_named(ctx, first)} cannot be combined with {_named(ctx, second)}"
        if second in selectors:
            return refusal
        needs = dict.fromkeys(kind.needs[0] for kind in kinds if second in kind.reads())
        return f"{refusal}, which needs {' or '.join(_named(ctx, name) for name in needs)}"
    return f"{_listed(ctx, names)} cannot be combined"


def _listed(ctx: click.Context, names: Sequence[str]) -> str:
    *most, last = [_named(ctx, name) for name in names]
    return f"{', '.join(most)} and {last}" if most else last
