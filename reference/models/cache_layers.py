"""Cache layers: growing ones with spare positions, and ones of a fixed size for compiled models."""

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import DynamicLayer, StaticLayer

# A layer grows by this many positions at a time; each growth copies the whole layer.
ROOM = 256


class RoomyLayer(DynamicLayer):  # type: ignore[misc]
    """The keys and values of one layer, in tensors with spare positions at the end.

    A rollback changes one number, and a step copies one token. transformers' own growing layers
    copy all of their content at every pass; in small models that takes longer than the attention.

    keys, values: shape (batch, heads, capacity, width). Content from `length` on is unused, for
      example after a rollback, and will be overwritten.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.length = 0

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        super().lazy_initialization(key_states, value_states)
        self.keys, self.values = key_states[..., :0, :], value_states[..., :0, :]

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        begin, end = self.length, self.length + key_states.shape[-2]
        if end > self.keys.shape[-2]:
            self.keys, self.values = (grown(held, end) for held in (self.keys, self.values))
        self.keys[..., begin:end, :] = key_states
        self.values[..., begin:end, :] = value_states
        self.length = end
        return self.keys[..., :end, :], self.values[..., :end, :]

    def get_seq_length(self) -> int:
        return self.length

    def reset(self) -> None:
        super().reset()
        self.length = 0

    def crop(self, tokens_to_remove: int) -> None:
        """Drops the last tokens; the argument is their number, negated."""
        self.length = max(self.length + tokens_to_remove, 0)


def grown(held: Tensor, length: int) -> Tensor:
    """Returns a layer's keys or values with capacity for a length; new positions are not filled.

    Args:
      held: shape (..., capacity, width).
    """
    *rows, room, width = held.shape
    roomier = held.new_empty(*rows, -(-length // ROOM) * ROOM, width)
    roomier[..., :room, :] = held
    return roomier


class FixedLayer(StaticLayer):  # type: ignore[misc]
    """Keys and values in tensors that never move; the model says where each pass writes.

    transformers' own fixed layers each count their tokens, so every pass and every rollback writes
    a number into each layer. Attention reads the whole tensors under a mask.
    """

    def __init__(self, capacity: int, length: Tensor) -> None:
        """Makes an empty layer.

        Args:
          length: tokens of the text before a pass, shape (), int64; one tensor for all layers.
        """
        super().__init__(capacity)
        self.cumulative_length = length

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        positions = torch.arange(key_states.shape[-2], device=self.device) + self.cumulative_length
        self.keys.index_copy_(2, positions, key_states)
        self.values.index_copy_(2, positions, value_states)
        return self.keys, self.values
