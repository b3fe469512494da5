"""A layer's keys and values of a fixed size, written where the model says: what programs need."""

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import StaticLayer


class FixedLayer(StaticLayer):   # type: ignore[misc]
    """Keys and values in tensors that never move; where a pass writes is the model's to say.

    transformers' own fixed layers each count their tokens, so that every pass and every rollback
    writes a number into each of them. Attention reads the whole of them under a mask.
    """

    def __init__(self, capacity: int, length: Tensor) -> None:
        """Makes a layer that holds nothing yet.

        Args:
          capacity: the most tokens that it can hold.
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

