"""States of recurrent layers, which cannot be cut back: copied at one length, and brought back."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import LinearAttentionCacheLayerMixin, LinearAttentionLayer

from reference.models.cache_layers import RoomyLayer


class RecurrentAndRoomyLayer(LinearAttentionLayer, RoomyLayer):  # type: ignore[misc]
    """A layer with attention beside its recurrence; `crop` cuts the attention's part alone."""

    is_compileable = False

    def __init__(self, number_of_states: int = 1) -> None:
        RoomyLayer.__init__(self)
        LinearAttentionLayer.__init__(self, number_of_states=number_of_states)

    def lazy_initialization(self, *given: Any, **named: Any) -> None:
        # Keys and values come by place, states by name.
        if given:
            RoomyLayer.lazy_initialization(self, *given)
        else:
            LinearAttentionLayer.lazy_initialization(self, **named)

    def crop(self, tokens_to_remove: int) -> None:
        RoomyLayer.crop(self, tokens_to_remove)


def is_recurrent(layer: Any) -> bool:
    """Returns whether a layer of a cache holds states that cannot be cut back."""
    return isinstance(layer, LinearAttentionCacheLayerMixin)


class Snapshot:
    """The states of a cache's recurrent layers at one length, and the ids of the whole text.

    length: at which the states were copied.
    """

    def __init__(self, layers: Sequence[Any]) -> None:
        """Holds the states of no tokens."""
        self._layers = [layer for layer in layers if is_recurrent(layer)]
        self._copies: list[_Copy] | None = None
        self._ids: list[Tensor] = []
        self.length = 0

    def before(self, tokens: Tensor) -> None:
        """Takes note of tokens that are about to be read; copies the states that are due."""
        if self._copies is None:
            self._copies = [_copied(layer) for layer in self._layers]
        self._ids.append(tokens)

    def move(self, length: int) -> None:
        """Lets the present states, those at a length, be copied before the next pass."""
        if length != self.length:
            self.length, self._copies = length, None

    def text(self, length: int) -> Tensor:
        """Returns the first ids of the text, and forgets all others."""
        self._ids = [torch.cat(self._ids)[:length]]
        return self._ids[0]

    def bring_back(self) -> None:
        """Gives the layers the states that were copied."""
        assert self._copies is not None
        for layer, (started, states) in zip(self._layers, self._copies, strict=True):
            layer.has_previous_state.update(started)
            for held, kept in states:
                held.copy_(kept)


_Copy = tuple[dict[int, bool], list[tuple[Tensor, Tensor]]]
"""Of a layer: which of its states there are, and each with its copy."""


def _copied(layer: Any) -> _Copy:
    held = [*layer.conv_states.values(), *layer.recurrent_states.values()]
    states = [(state, state.clone()) for state in held if state is not None]
    return dict(layer.has_previous_state), states
