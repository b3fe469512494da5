"""The keys and values, and the hidden states, that a model stores for a text."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor, nn
from transformers.cache_utils import DynamicLayer

# A layer grows by this many positions at a time; each growth copies the whole layer.
GROWTH = 256


class RoomyLayer(DynamicLayer):  # type: ignore[misc]
    """The keys and values of one layer, in tensors with spare positions at the end.

    A pass over one token copies only this token's keys and values. transformers' own layers copy
    their whole content at every pass, which takes longer than the attention of small models.

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
            spare = (0, 0, 0, -(-end // GROWTH) * GROWTH - self.keys.shape[-2])
            self.keys, self.values = (nn.functional.pad(x, spare) for x in (self.keys, self.values))
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
        """Drops the last tokens; the argument is negative: -2 drops two tokens."""
        self.length = max(self.length + tokens_to_remove, 0)


class Recorder:
    """Records the hidden states of a model's last pass at several modules, numbered by `place`."""

    def __init__(self, places: int) -> None:
        self._read: list[Tensor | None] = [None] * places

    def before(self, place: int, _: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Forward pre-hook (with keyword arguments) that records a module's input."""
        self._read[place] = given[0] if given else named["hidden_states"]

    def after(self, place: int, _: Any, given: tuple[Any, ...], output: Any) -> None:
        """Forward hook that records a module's output."""
        self._read[place] = output if isinstance(output, Tensor) else output[0]

    def taken(self) -> Tensor | None:
        """Returns the last pass's states, (1, positions, width), and forgets them; or None."""
        read = [states for states in self._read if states is not None]
        self._read = [None] * len(self._read)
        if len(read) > 1:
            return torch.cat(read, dim=-1)
        return read[0] if read else None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # copies of a model share its hooks


def record_output(module: Any) -> Recorder:
    """Returns a recorder of the input of a model's output embedding, if the model has one."""
    recorder = Recorder(1)
    embedding = module.get_output_embeddings()
    if embedding is not None:
        embedding.register_forward_pre_hook(partial(recorder.before, 0), with_kwargs=True)
    return recorder


def record_layers(module: Any, boundaries: Sequence[int | None], *, name: str) -> Recorder:
    """Returns a recorder of the hidden states at some boundaries of a model's layers.

    Boundary 0 is the input of the first layer, boundary i the output of layer i - 1. None is
    the output of the norm after the last layer.
    """
    _, layers = layer_stack(module, what="a head on hidden states", name=name)
    for boundary in boundaries:
        if boundary is not None and not 0 <= boundary <= len(layers):
            raise ValueError(
                f"a head's hidden states must lie between 0 and {len(layers)}, the layers of "
                f"{name}, got {boundary}"
            )
    recorder = Recorder(len(boundaries))
    for place, boundary in enumerate(boundaries):
        if boundary == 0:
            hook = partial(recorder.before, place)
            layers[0].register_forward_pre_hook(hook, with_kwargs=True)
        else:
            made_by = module.get_decoder() if boundary is None else layers[boundary - 1]
            made_by.register_forward_hook(partial(recorder.after, place))
    return recorder


def layer_stack(module: Any, *, what: str, name: str) -> tuple[str, nn.ModuleList]:
    """Returns the name and layers of a decoder's stack; refuses a decoder with none or several."""
    children = module.get_decoder().named_children()
    stacks = [(path, child) for path, child in children if isinstance(child, nn.ModuleList)]
    if len(stacks) != 1:
        raise ValueError(
            f"{what} needs a single stack of layers, got {len(stacks)} in {name} "
            f"({module.config.model_type})"
        )
    return stacks[0]


class States:
    """The hidden states of a text, for the positions in the model's cache."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._rows: dict[int, Tensor] = {}  # by position, ascending: shape (width,)

    def clear(self) -> None:
        self._rows.clear()

    def keep(self, end: int) -> None:
        """Stores the states of the last pass, whose last position was `end` - 1."""
        read = self._recorder.taken()
        if read is not None:
            self._rows.update(enumerate(read[0].unbind(), start=end - read.shape[1]))

    def skip(self) -> None:
        """Discards the states of the last pass, because those positions are already stored."""
        self._recorder.taken()

    def cut(self, length: int) -> None:
        """Drops the states of all positions from `length` on."""
        while self._rows and next(reversed(self._rows)) >= length:
            self._rows.popitem()

    def choose(self, length: int, places: Sequence[int]) -> None:
        """Keeps the states before `length`, and moves those at length + places behind them."""
        chosen = [self._rows.get(length + place) for place in places]
        self.cut(length)
        states = [state for state in chosen if state is not None]
        self._rows.update(enumerate(states, start=length))

    def at(self, position: int) -> Tensor | None:
        """Returns the state at a position, shape (width,); None if it was not recorded."""
        return self._rows.get(position)

    def between(self, first: int, end: int) -> Tensor | None:
        """Returns the states of positions first to end - 1, (n, width); None if one is missing."""
        states = [self._rows[place] for place in range(first, end) if place in self._rows]
        return torch.stack(states) if states and len(states) == end - first else None
