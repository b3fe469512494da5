"""Models with recurrent layers: after a rollback they read the block's accepted tokens again.

A recurrent state summarises the whole text and cannot be shortened. So the states are copied before
each block, and a rollback restores them. If a tokens were accepted, it then reads a + 1 tokens
again: the last token before the block and the accepted tokens.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import Cache, DynamicCache
from transformers.cache_utils import (
    DynamicLayer,
    DynamicSlidingWindowLayer,
    LinearAttentionCacheLayerMixin,
    LinearAttentionLayer,
)

from reference.models.architectures import CausalModel
from reference.models.memory import RoomyLayer

# Relative to the range of the logits: above rounding, far below the effect of a lost state.
TRIAL_TOLERANCE = 0.02


def is_recurrent_model(module: Any) -> bool:
    """Returns whether a decoder-only `PreTrainedModel` has both recurrent layers and attention."""
    # The layers of RecurrentGemma keep states in themselves, not only in the cache.
    is_griffin = module.config.model_type == "recurrent_gemma"
    if is_griffin or not module._supports_default_dynamic_cache():
        return False
    layers = DynamicCache(config=module.config).layers
    attends = any(isinstance(layer, DynamicLayer) for layer in layers)
    return attends and any(map(is_recurrent, layers))


class RecurrentModel(CausalModel):
    """A decoder-only model with some recurrent layers, behind the `Model` protocol."""

    def __init__(self, module: Any, name: str) -> None:
        super().__init__(module, name)
        self.read_again = 0  # number of tokens that rollbacks have read again
        self._require_steps()

    @torch.inference_mode()
    def _require_steps(self) -> None:
        """Refuses a model whose passes over several tokens ignore the earlier recurrent state."""
        ids = torch.arange(1, 7, device=self.device) % self.vocabulary
        self.start(ids[:3].tolist())
        steps = torch.cat([self.extend(token) for token in ids[2:].split(1)])
        self.rollback(2)
        whole = self.extend(ids[2:])
        apart = float((whole.float() - steps.float()).abs().nan_to_num(torch.inf).max())
        if apart > TRIAL_TOLERANCE * float(steps.max() - steps.min()):
            raise ValueError(
                f"{self._title} cannot be decoded speculatively: its passes over several tokens "
                "begin without the states of its recurrent layers; choose a model of another family"
            )
        self._forget()

    def _require_rollback(self) -> None:
        """Refuses nothing, because recurrent states are restored from copies."""

    def _empty_cache(self) -> Cache:
        cache = DynamicCache(config=self.module.config)
        self._windowed = any(cache.is_sliding)
        cache.layers = [self._layer(layer) for layer in cache.layers]
        self._snapshot = Snapshot(cache.layers)
        return cache

    def _layer(self, layer: Any) -> Any:
        """Returns a cache layer that can be rolled back, to replace transformers' layer."""
        attends = isinstance(layer, DynamicLayer)
        if is_recurrent(layer):
            return RecurrentAndRoomyLayer(layer.number_of_states) if attends else layer
        if type(layer) in (DynamicLayer, DynamicSlidingWindowLayer):
            return RoomyLayer()
        if not layer.is_croppable:
            self._refuse()
        return layer

    def _logits(
        self, tokens: Tensor, parents: Sequence[int] | None, logits_to_keep: int = 0
    ) -> Tensor:
        if parents is not None:
            self._refuse_trees("recurrent layers")
        self._snapshot.before(tokens)
        return super()._logits(tokens, None, logits_to_keep)

    @torch.inference_mode()
    def start(self, prompt: Sequence[int]) -> list[int]:
        text = super().start(prompt)
        self._snapshot.move(self.length)
        return text

    @torch.inference_mode()
    def rollback(self, length: int) -> None:
        self._require_length(length)
        if length < self.length:
            with self._stopwatch:
                self._go_back(length)
            for states in self._states.values():
                states.cut(length)
        self._snapshot.move(length)

    def _go_back(self, length: int) -> None:
        text, kept = self._snapshot.text(length), self._snapshot.length
        if length < kept:
            # Earlier than the copied states: start from an empty cache.
            self._cache, self.length = self._empty_cache(), 0
            self._snapshot.before(text)
        else:
            self._snapshot.bring_back()
            for layer in self._cache.layers:
                if not is_recurrent(layer) or isinstance(layer, RecurrentAndRoomyLayer):
                    layer.crop(kept - self.length)
            self.length = kept
        between = text[self.length :]
        if len(between):
            super()._logits(between, None, logits_to_keep=1)
            self.read_again += len(between)
            for states in self._states.values():
                states.skip()
        self.length = length


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
    """A copy of the recurrent states in a cache, and the ids of the text so far."""

    def __init__(self, layers: Sequence[Any]) -> None:
        self._layers = [layer for layer in layers if is_recurrent(layer)]
        # For each layer: which states exist, and each state with its copy.
        self._copies: list[tuple[dict[int, bool], list[tuple[Tensor, Tensor]]]] | None = None
        self._ids: list[Tensor] = []
        self.length = 0  # number of tokens that these states have read

    def before(self, tokens: Tensor) -> None:
        """Records the tokens of the next pass; first copies the states if `move` requested it."""
        if self._copies is None:
            self._copies = [
                (dict(layer.has_previous_state), [(state, state.clone()) for state in _held(layer)])
                for layer in self._layers
            ]
        self._ids.append(tokens)

    def move(self, length: int) -> None:
        """Requests a copy of the present states, after `length` tokens; the next pass makes it."""
        if length != self.length:
            self.length, self._copies = length, None

    def text(self, length: int) -> Tensor:
        """Returns the first `length` ids of the text and forgets the ids after them."""
        self._ids = [torch.cat(self._ids)[:length]]
        return self._ids[0]

    def bring_back(self) -> None:
        """Writes the copied states back into the layers."""
        assert self._copies is not None
        for layer, (started, states) in zip(self._layers, self._copies, strict=True):
            layer.has_previous_state.update(started)
            for held, kept in states:
                held.copy_(kept)


def _held(layer: Any) -> list[Tensor]:
    states = [*layer.conv_states.values(), *layer.recurrent_states.values()]
    return [state for state in states if state is not None]
