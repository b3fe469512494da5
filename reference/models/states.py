"""Records hidden states during a model's passes, by position of the text."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol, Self

import torch
from torch import Tensor, nn


class Listener(Protocol):
    """Records the hidden states of each pass."""

    def taken(self) -> Tensor | None:
        """Returns the states since the last call, shape (1, positions, width); None without any."""


class TargetStates:
    """Records the input of a model's output embedding, if the model has one.

    Copies of a model share its hooks, so a copy of this object is the object itself.
    """

    def __init__(self, module: Any) -> None:
        self._read: Tensor | None = None
        embedding = module.get_output_embeddings()
        if embedding is not None:
            embedding.register_forward_pre_hook(self._listen)

    def _listen(self, _: Any, given: tuple[Tensor, ...]) -> None:
        self._read = given[0]

    def taken(self) -> Tensor | None:
        read, self._read = self._read, None
        return read

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class States:
    """The hidden states of a text, for the positions in the model's cache.

    A pass that computes logits computes these states anyway. Keeping them takes little memory
    compared with the keys and values of every layer.
    """

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        # For each pass: its first position, the position after its last, and its states.
        self._kept: list[tuple[int, int, Tensor]] = []

    def clear(self) -> None:
        self._kept.clear()

    def keep(self, end: int) -> None:
        """Keeps the states of the last pass, whose last position is end - 1."""
        read = self._listener.taken()
        if read is not None:
            self._kept.append((end - read.shape[1], end, read))

    def skip(self) -> None:
        """Drops the states of the last pass, whose positions are already recorded."""
        self._listener.taken()

    def cut(self, length: int) -> None:
        """Drops the states of all positions from `length` on."""
        while self._kept and self._kept[-1][0] >= length:
            self._kept.pop()
        if self._kept:
            first, end, states = self._kept[-1]
            self._kept[-1] = (first, min(end, length), states)

    def choose(self, length: int, places: Sequence[int]) -> None:
        """Keeps only some of the positions from `length` on, in their order."""
        chosen = [self.at(length + place) for place in places]
        self.cut(length)
        found = [state for state in chosen if state is not None]
        if found:
            self._kept.append((length, length + len(found), torch.stack(found)[None]))

    def at(self, position: int) -> Tensor | None:
        """Returns the state at a position, shape (width,); None if it was not recorded."""
        for first, end, states in reversed(self._kept):
            if first <= position < end:
                return states[0, position - first]
        return None

    def between(self, first: int, end: int) -> Tensor | None:
        """Returns the states of positions from first up to end, shape (positions, width).

        None if one of them was not recorded.
        """
        parts: list[Tensor] = []
        for begun, ended, states in reversed(self._kept):
            if ended <= first:
                break
            parts.append(states[0, max(first - begun, 0) : max(min(ended, end) - begun, 0)])
        found = sum(map(len, parts))
        return torch.cat(parts[::-1]) if parts and found == end - first else None


class Taps:
    """Records the hidden states at some boundaries of a model's layers, concatenated.

    Boundary 0 is the input of the first layer, boundary i the output of layer i - 1. None is
    the output of the norm after the last layer.
    """

    def __init__(self, module: Any, boundaries: Sequence[int | None], *, name: str) -> None:
        _, layers = layer_stack(module, what="a head on hidden states", name=name)
        for boundary in boundaries:
            if boundary is not None and not 0 <= boundary <= len(layers):
                raise ValueError(
                    f"a head's hidden states must lie between 0 and {len(layers)}, the layers of "
                    f"{name}, got {boundary}"
                )
        self._states: list[Tensor | None] = [None for _ in boundaries]
        for place, boundary in enumerate(boundaries):
            if boundary == 0:
                hook = partial(self._before, place)
                layers[0].register_forward_pre_hook(hook, with_kwargs=True)
            else:
                made_by = module.get_decoder() if boundary is None else layers[boundary - 1]
                made_by.register_forward_hook(partial(self._after, place))

    def _before(self, place: int, _: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._states[place] = given[0] if given else named["hidden_states"]

    def _after(self, place: int, _: Any, given: tuple[Any, ...], made: Any) -> None:
        self._states[place] = made if isinstance(made, Tensor) else made[0]

    def taken(self) -> Tensor | None:
        states = [state for state in self._states if state is not None]
        self._states = [None for _ in self._states]
        return torch.cat(states, dim=-1) if states else None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def layer_stack(module: Any, *, what: str, name: str) -> tuple[str, nn.ModuleList]:
    """Returns the name and the layers of a decoder's stack; refuses none and several stacks."""
    children = module.get_decoder().named_children()
    stacks = [(path, child) for path, child in children if isinstance(child, nn.ModuleList)]
    if len(stacks) != 1:
        raise ValueError(
            f"{what} needs a single stack of layers, got {len(stacks)} in {name} "
            f"({module.config.model_type})"
        )
    return stacks[0]
