"""Models with recurrent layers: after a rollback, accepted tokens of the block are read again.

A recurrent state summarises the whole text and cannot be shortened. So the states are copied before
each block. A rollback restores them and reads the accepted tokens again: a + 1 tokens after a
rejection that follows a accepted ones, the last token of the earlier text included.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from reference.models.cache_layers import RoomyLayer
from reference.models.causal_model import CausalModel
from reference.models.recurrent_states import RecurrentAndRoomyLayer, Snapshot, is_recurrent

# Their layers keep states in themselves, not only in the cache.
IN_THEMSELVES = frozenset({"recurrent_gemma"})
# Relative to the range of the logits: above rounding, far below the effect of a lost state.
TRIAL_TOLERANCE = 0.02


def is_recurrent_model(module: Any) -> bool:
    """Returns whether a decoder-only `PreTrainedModel` has both recurrent layers and attention."""
    if module.config.model_type in IN_THEMSELVES or not module._supports_default_dynamic_cache():
        return False
    layers = DynamicCache(config=module.config).layers
    attends = any(isinstance(layer, DynamicLayer) for layer in layers)
    return attends and any(map(is_recurrent, layers))


class RecurrentModel(CausalModel):
    """A decoder-only model with some recurrent layers, behind the `Model` protocol.

    read_again: number of tokens that rollbacks have read again.
    """

    def __init__(self, module: Any, name: str) -> None:
        """Wraps a loaded model, and tests that its passes continue from its states."""
        super().__init__(module, name)
        self.read_again = 0
        self._require_steps()

    @torch.inference_mode()
    def _require_steps(self) -> None:
        """Refuses a model whose passes over several tokens ignore the state before them.

        Tested on the model itself, not by a list of families: some do so only for prompts.
        """
        ids = torch.arange(1, 7, device=self.device) % self.vocabulary
        self.start(ids[:3].tolist())
        steps = torch.cat([self.extend(token) for token in ids[2:].split(1)])
        self.rollback(2)
        whole = self.extend(ids[2:])
        apart = float((whole.float() - steps.float()).abs().nan_to_num(torch.inf).max())
        if apart > TRIAL_TOLERANCE * float(steps.max() - steps.min()):
            raise ValueError(
                f"{self.name} ({self.module.config.model_type}) cannot be decoded speculatively: "
                "its passes over several tokens begin without the states of its recurrent layers; "
                "choose a model of another family"
            )
        self._forget()

    def _require_rollback(self) -> None:
        """Accepts the model: all of its state is in its cache and can be restored from there."""

    def _empty_cache(self) -> Cache:
        cache = DynamicCache(config=self.module.config)
        self._windowed = any(cache.is_sliding)
        cache.layers = [self._layer(layer) for layer in cache.layers]
        self._snapshot = Snapshot(cache.layers)
        return cache

    def _layer(self, layer: Any) -> Any:
        """Returns a layer that can be rolled back, in place of transformers' own layer."""
        attends = isinstance(layer, DynamicLayer)
        if is_recurrent(layer):
            return RecurrentAndRoomyLayer(layer.number_of_states) if attends else layer
        if type(layer) in (DynamicLayer, DynamicSlidingWindowLayer):
            return RoomyLayer()
        if not layer.is_croppable:
            self._refuse()
        return layer

    def _forward(
        self, tokens: Tensor, logits_to_keep: int, parents: Sequence[int] | None = None
    ) -> Tensor:
        if parents is not None:
            raise ValueError(
                "drafts that branch need a model that reads a tree by an attention mask, got "
                f"{self.name} ({self.module.config.model_type}) with recurrent layers"
            )
        self._snapshot.before(tokens)
        return super()._forward(tokens, logits_to_keep)

    @torch.inference_mode()
    def start(self, prompt: Sequence[int]) -> list[int]:
        text = super().start(prompt)
        self._snapshot.move(self._length)
        return text

    @torch.inference_mode()
    def rollback(self, length: int) -> None:
        self._require_length(length)
        if length < self._length:
            with self._stopwatch:
                self._go_back(length)
            for states in self._all_states():
                states.cut(length)
        self._snapshot.move(length)

    def _go_back(self, length: int) -> None:
        text, kept = self._snapshot.text(length), self._snapshot.length
        if length < kept:
            # Earlier than the copied states: start from an empty cache.
            self._cache, self._length = self._empty_cache(), 0
            self._snapshot.before(text)
        else:
            self._snapshot.bring_back()
            for layer in self._cache.layers:
                if not is_recurrent(layer) or isinstance(layer, RecurrentAndRoomyLayer):
                    layer.crop(kept - self._length)
            self._length = kept
        between = text[self._length :]
        if len(between):
            super()._forward(between, logits_to_keep=1)
            self.read_again += len(between)
            for states in self._all_states():
                states.skip()
        self._length = length
