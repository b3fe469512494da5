"""What flows between a model's layers, heard as its passes go."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor

from reference.models.layer_stack import layer_stack


class Taps:
    """The hidden states at some boundaries of a model's layers, side by side.

    Boundary 0 is what the first layer reads, boundary i what layer i - 1 makes; None is what the
    norm after the last layer makes.
    """

    def __init__(self, module: Any, boundaries: Sequence[int | None], *, name: str) -> None:
        """Listens to a model's layers.

        Args:
          module: a decoder-only `PreTrainedModel`.
          boundaries: at least one.
          name: of the model, for messages.

        Raises:
          ValueError: if its layers are no single stack, or it has not so many.
        """
        _, layers = layer_stack(module, what="a head on hidden states", name=name)
        for boundary in boundaries:
            if boundary is not None and not 0 <= boundary <= len(layers):
                raise ValueError(
                    f"a head's hidden states must lie between 0 and {len(layers)}, the layers of "
                    f"{name}, got {boundary}"
                )
        self._heard: list[Tensor | None] = [None for _ in boundaries]
        for place, boundary in enumerate(boundaries):
            if boundary == 0:
                hear = partial(self._before, place)
                layers[0].register_forward_pre_hook(hear, with_kwargs=True)
            else:
                made_by = module.get_decoder() if boundary is None else layers[boundary - 1]
                made_by.register_forward_hook(partial(self._after, place))

    def _before(self, place: int, _: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._heard[place] = given[0] if given else named["hidden_states"]

    def _after(self, place: int, _: Any, given: tuple[Any, ...], made: Any) -> None:
        self._heard[place] = made if isinstance(made, Tensor) else made[0]

    def taken(self) -> Tensor | None:
        """Returns what was heard since this was last asked, shape (batch, positions, width)."""
        heard = [state for state in self._heard if state is not None]
        self._heard = [None for _ in self._heard]
        return torch.cat(heard, dim=-1) if heard else None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self
