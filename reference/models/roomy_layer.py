"""A layer's keys and values with room ahead: a rollback sets a number, and a step copies one token.

transformers' own growing layers copy all that they hold at every pass, and make two new views in
every layer at every rollback; in small models that is more than the attention itself.
"""

from typing import Any

from torch import Tensor
from transformers.cache_utils import DynamicLayer

# Positions by which a layer grows, which all layers of a model then copy once.
ROOM = 256


class RoomyLayer(DynamicLayer):   # type: ignore[misc]
    """What a layer saw of a text, at the front of tensors that have room for more.

    keys, values: shape (batch, heads, room, width). Positions from `length` on hold nothing: what
      was rolled back is left there and overwritten.
    length: tokens held.
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
        """Drops the last tokens; their number comes as a negative one."""
        self.length = max(self.length + tokens_to_remove, 0)


def grown(held: Tensor, length: int) -> Tensor:
    """Returns a layer's keys or values with room for a length; what is new holds nothing.

    Args:
      held: shape (..., room, width).
      length: above room.
    """
    *rows, room, width = held.shape
    roomier = held.new_empty(*rows, -(-length // ROOM) * ROOM, width)
    roomier[..., :room, :] = held
    return roomier
