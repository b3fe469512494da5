"""Runs a model on the meta device with one layer of each kind.

A pass of a deep model takes seconds on that device, nearly all of them in layers that are alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

_PLAIN = (bool, int, float, str, tuple, type(None))


class AlikeLayers:
    """The layers of a model that differ from an earlier layer only by their number.

    layers: the model's layers; shared weights make a layer unlike all others.
    first: the number of the first layer like it, by the number of a repeated layer, from 0.

    Example: 48 layers, each fourth of which has full attention, have the first layers {1: 0, 2: 0,
    4: 0, …, 7: 3, …}.
    """

    def __init__(self, model: nn.Module, layer_types: Sequence[str] | None) -> None:
        """layer_types: the kinds of the layers in the configuration; None: it lists none."""
        from torch import nn

        self.layers: Sequence[nn.Module] = ()
        self.first: dict[int, int] = {}
        for layers in model.modules():
            if isinstance(layers, nn.ModuleList) and not self.first:
                self.layers = list(layers)
                self.first = _first_places(self.layers, layer_types)

    @contextmanager
    def once(self) -> Iterator[None]:
        """Lets a repeated layer return what the first layer like it returned last.

        Refuses a pass that runs one of these layers several times or never.
        """
        outputs: dict[int, Any] = {}
        calls: Counter[int] = Counter()

        def replace(place: int, result: Callable[..., Any]) -> None:
            def run(*arguments: Any, **named: Any) -> Any:
                calls[place] += 1
                outputs[place] = result(*arguments, **named)
                return outputs[place]

            vars(self.layers[place])["forward"] = run

        try:
            for first in set(self.first.values()):
                replace(first, self.layers[first].forward)
            for place, first in self.first.items():
                replace(place, lambda *_, first=first, **__: outputs[first])
            yield
            if any(calls[place] != 1 for place in {*self.first, *self.first.values()}):
                raise ValueError("layers that are alike must run once each")
        finally:
            for place in {*self.first, *self.first.values()}:
                vars(self.layers[place]).pop("forward", None)

    def copy_uses(self, uses: MutableMapping[int, int]) -> None:
        """Counts the uses of the first layers' parameters for repeated layers; keys: their ids."""
        for place, first in self.first.items():
            pairs = (self.layers[number].parameters() for number in (place, first))
            for parameter, counted in zip(*pairs, strict=True):
                if id(counted) in uses:  # others are read by a module that they are not part of
                    uses[id(parameter)] = uses[id(counted)]

    def copy_caches(self, caches: list[Any]) -> None:
        """Gives repeated layers the first layers' caches; refuses caches of another type.

        caches: one for each layer; the last layers may have none.
        """
        for place, first in self.first.items():
            if place == len(caches) and first < place:
                caches.append(caches[first])
            elif place < len(caches):
                if type(caches[place]) is not type(caches[first]):
                    raise ValueError("layers that are alike must have caches of one type")
                caches[place] = caches[first]


def _first_places(layers: Sequence[nn.Module], layer_types: Sequence[str] | None) -> dict[int, int]:
    owners = Counter(id(p) for layer in layers for p in layer.parameters())
    seen: dict[Any, int] = {}
    places = {}
    for place, layer in enumerate(layers):
        described = _description(layer, place)
        if described is not None and all(owners[id(p)] == 1 for p in layer.parameters()):
            kind = (*(layer_types or ())[place : place + 1], described)
            first = seen.setdefault(kind, place)
            if first < place:
                places[place] = first
    return places


def _description(layer: nn.Module, place: int) -> str | None:
    """Returns a layer's modules, settings and sizes as text; None if its number is not `place`."""
    modules, numbered = [], False
    for name, module in layer.named_modules():
        number = getattr(module, "layer_idx", None)
        if number not in (None, place):
            return None
        numbered = numbered or number == place
        settings = [
            (key, value)
            for key, value in vars(module).items()
            if key != "layer_idx" and isinstance(value, _PLAIN)
        ]
        sizes = [
            (key, tuple(tensor.shape), tensor.dtype)
            for tensors in (module.named_parameters, module.named_buffers)
            for key, tensor in tensors(recurse=False)
        ]
        modules.append((name, type(module), settings, sizes))
    return repr(modules) if numbered else None
