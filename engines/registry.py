"""Every kind of engine, found in `engines.kinds`; to know one imports nothing heavy."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from engines.kind import EngineKind, Exports
from estimator.kinds import modules_in


@cache
def engine_kinds() -> Mapping[str, EngineKind]:
    """Returns the kinds by name: the `KIND` of each module of `engines.kinds`."""
    found: dict[str, EngineKind] = {
        module.KIND.name: module.KIND for module in modules_in("engines.kinds")
    }
    return MappingProxyType(dict(sorted(found.items())))


def names_of(has: Callable[[EngineKind], object]) -> tuple[str, ...]:
    """Returns the names of kinds that have something, which `has` gives."""
    return tuple(kind.name for kind in engine_kinds().values() if has(kind))


def listed(names: Sequence[str]) -> str:
    """Returns names as a sentence has them: `a, b or c`."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def exports_of(name: str) -> Exports:
    """Returns what makes an engine draft as planned.

    Raises:
      ValueError: if nothing is known of it.
    """
    kind = engine_kinds().get(name)
    if kind is None or kind.exports is None:
        known = ", ".join(names_of(lambda kind: kind.exports))
        raise ValueError(f"an engine to export for must be one of {known}, got {name}")
    return kind.exports
