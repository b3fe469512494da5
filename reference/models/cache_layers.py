"""A cache layer that grows with spare positions, so that a rollback changes one number."""

from typing import Any

from torch import Tensor
from transformers.cache_utils import DynamicLayer

# A layer grows by this many positions at a time; each growth copies the whole layer.
GROWTH = 256


class RoomyLayer(DynamicLayer):  # type: ignore[misc]
    """The keys and values of one layer, in tensors with spare positions at the end.

    A step copies one token. transformers' own growing layers copy all of their content at every
    pass; in small models that takes longer than the attention.

    keys, values: shape (batch, heads, capacity, width); content from `length` on is unused.
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
        """Drops the last tokens; `tokens_to_remove` is their number, negated."""
        self.length = max(self.length + tokens_to_remove, 0)


def grown(held: Tensor, length: int) -> Tensor:
    """Returns keys or values, shape (..., capacity, width), with room for `length` positions."""
    *rows, capacity, width = held.shape
    larger = held.new_empty(*rows, -(-length // GROWTH) * GROWTH, width)
    larger[..., :capacity, :] = held
    return larger
