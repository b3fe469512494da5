"""Copies of recurrent states: they cannot be shortened, so they are saved and restored."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import LinearAttentionCacheLayerMixin, LinearAttentionLayer

from reference.models.cache_layers import RoomyLayer


class RecurrentAndRoomyLayer(LinearAttentionLayer, RoomyLayer):  # type: ignore[misc]
    """A layer with attention and recurrence; `crop` shortens only the attention's part."""

    is_compileable = False

    def __init__(self, number_of_states: int = 1) -> None:
        RoomyLayer.__init__(self)
        LinearAttentionLayer.__init__(self, number_of_states=number_of_states)

    def lazy_initialization(self, *given: Any, **named: Any) -> None:
        # transformers passes keys and values by position, and states by name.
        if given:
            RoomyLayer.lazy_initialization(self, *given)
        else:
            LinearAttentionLayer.lazy_initialization(self, **named)

    def crop(self, tokens_to_remove: int) -> None:
        RoomyLayer.crop(self, tokens_to_remove)


def is_recurrent(layer: Any) -> bool:
    """Returns whether a layer of a cache holds a recurrent state."""
    return isinstance(layer, LinearAttentionCacheLayerMixin)


class Snapshot:
    """Saved states of a cache's recurrent layers, and the ids of the whole text.

    length: number of tokens that the saved states have read.
    """

    def __init__(self, layers: Sequence[Any]) -> None:
        """Saves the states before any token."""
        self._layers = [layer for layer in layers if is_recurrent(layer)]
        self._copies: list[_Copy] | None = None
        self._ids: list[Tensor] = []
        self.length = 0

    def before(self, tokens: Tensor) -> None:
        """Records tokens that the next pass will read, and saves the states if a copy is due."""
        if self._copies is None:
            self._copies = [_copied(layer) for layer in self._layers]
        self._ids.append(tokens)

    def move(self, length: int) -> None:
        """Requests that the states after `length` tokens are saved before the next pass."""
        if length != self.length:
            self.length, self._copies = length, None

    def text(self, length: int) -> Tensor:
        """Returns the first ids of the text and forgets the others."""
        self._ids = [torch.cat(self._ids)[:length]]
        return self._ids[0]

    def bring_back(self) -> None:
        """Restores the saved states in the layers."""
        assert self._copies is not None
        for layer, (started, states) in zip(self._layers, self._copies, strict=True):
            layer.has_previous_state.update(started)
            for held, kept in states:
                held.copy_(kept)


_Copy = tuple[dict[int, bool], list[tuple[Tensor, Tensor]]]
"""For one layer: which states exist, and each state with its copy."""


def _copied(layer: Any) -> _Copy:
    held = [*layer.conv_states.values(), *layer.recurrent_states.values()]
    states = [(state, state.clone()) for state in held if state is not None]
    return dict(layer.has_previous_state), states
