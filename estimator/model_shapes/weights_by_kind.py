"""Sums the parameters of a model by kind: looked up, always multiplied, or experts."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType

from simulator.cost.roofline.matrices import ROUTERS, Matrix, joined
from simulator.cost.roofline.shapes import WeightKind

# Kinds of weights that quantisation may change.
LINEAR: tuple[WeightKind, ...] = ("attention", "feed-forward", "experts")
_LOOKED_UP: WeightKind = "embedding"
# Kind, name, shape and number of experts (0: none) of every parameter.
Parameters = Iterable[tuple[WeightKind, str, tuple[int, ...], int]]


@dataclass(frozen=True, slots=True)
class CountedWeights:
    """The weights of one kind (attention, experts, …) before their number format is chosen.

    kind, values, experts, active, inner, held, matrices: see
      simulator.cost.roofline.shapes.Weights.
    quantised: whether these weights are quantised if the model is stored quantised.
    """

    kind: WeightKind
    values: int
    quantised: bool = False
    experts: int = 0
    active: int = 0
    inner: int = 0
    held: bool = True
    matrices: tuple[Matrix, ...] = ()


def by_kind(
    parameters: Parameters,
    hidden: int,
    kept: tuple[str, ...] = (),
    *,
    within: str = "",
    uses: Mapping[str, int] = MappingProxyType({}),
    active: Callable[[int], int] = int,
) -> tuple[CountedWeights, ...]:
    """Returns weights by kind. A tied output matrix is counted once, as kind "head".

    hidden: width of the hidden states.
    kept: regular expressions for the names of modules that are not quantised.
    within: prefix of the names of the weights to count.
    uses: uses of each matrix in a pass, by name (see `meta_pass`); names not listed: 1. A matrix
      that is used n times is counted n times, and `held` is true for only one of the n counts.
    active: maps the number of a layer's experts to those that one token uses.
    """
    totals: Counter[CountedWeights] = Counter()
    # Values of the experts' matrices; gate and up may be one matrix, down is one by itself.
    sizes: dict[CountedWeights, list[int]] = {}
    sides: defaultdict[CountedWeights, dict[str, list[tuple[str, int, int]]]] = defaultdict(dict)
    for kind, name, shape, experts in parameters:
        if name.startswith(within):
            quantised = _quantised(kind, name, len(shape), kept)
            alike = CountedWeights(kind, 0, quantised, experts, active(experts) if experts else 0)
            totals[alike] += prod(shape)
            if experts and "bias" not in name:
                sizes.setdefault(alike, []).append(prod(shape[-2:]))
            again = 0 if experts or kind == _LOOKED_UP else uses.get(name, 1) - 1
            if again > 0:
                totals[replace(alike, held=False)] += again * prod(shape)
            if kind in LINEAR and not experts and len(shape) == 2:
                module, _, leaf = name.removesuffix(".weight").rpartition(".")
                for turn in range(1 + again):
                    part = replace(alike, held=turn == 0)
                    sides[part].setdefault(f"{module} {turn}", []).append((leaf, *shape))
    inner = {alike: min(matrices) // hidden for alike, matrices in sizes.items()}
    whole = {part: joined(modules, hidden) for part, modules in sides.items()}
    return tuple(
        replace(part, values=values, inner=inner.get(part, 0), matrices=whole.get(part, ()))
        for part, values in totals.items()
    )


def _quantised(kind: WeightKind, name: str, sides: int, kept: tuple[str, ...]) -> bool:
    module = name.rpartition(".")[0]
    router = module.rpartition(".")[2] in ROUTERS
    matrix = sides >= 2 and "conv" not in module and not router
    if kind not in LINEAR or not matrix:
        return False
    # An expert's parameters are in modules of its own or bare tensors: both names are checked.
    return not any(re.search(pattern, tried) for pattern in kept for tried in (name, module))
