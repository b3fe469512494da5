"""Models with recurrent layers: a rollback reads what stands of a block once more.

What a recurrent layer holds is of the whole text and cannot be cut back. So its states are copied
before a block, and a rollback brings them back and reads the tokens that stand again: a + 1 tokens
after a rejection behind a accepted ones, the last of the text before included.
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

# Their layers keep states in themselves, besides what the cache holds.
IN_THEMSELVES = frozenset({"recurrent_gemma"})
# Of the range of the logits: above what rounding does, far below what a lost state does.
TRIAL_TOLERANCE = 0.02


def is_recurrent_model(module: Any) -> bool:
    """Returns whether a decoder-only `PreTrainedModel` has recurrent layers beside attention."""
    if module.config.model_type in IN_THEMSELVES or not module._supports_default_dynamic_cache():
        return False
    layers = DynamicCache(config=module.config).layers
    attends = any(isinstance(layer, DynamicLayer) for layer in layers)
    return attends and any(map(is_recurrent, layers))


class RecurrentModel(CausalModel):
    """A decoder-only model some of whose layers are recurrent, behind the `Model` protocol.

    read_again: tokens that rollbacks have read once more.
    """

    def __init__(self, module: Any, name: str) -> None:
        """Wraps a loaded model, and tries whether its passes go on from its states.

        Raises:
          ValueError: if it keeps no cache, or a pass over several tokens is not its steps.
        """
        super().__init__(module, name)
        self.read_again = 0
        self._require_steps()

    @torch.inference_mode()
    def _require_steps(self) -> None:
        """Refuses a model whose passes over several tokens begin without the state before them.

        A trial rather than a list of families: some have such passes for prompts alone.
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
        """All that it holds is in its cache, and brought back from there."""

    def _empty_cache(self) -> Cache:
        cache = DynamicCache(config=self.module.config)
        self._windowed = any(cache.is_sliding)
        cache.layers = [self._layer(layer) for layer in cache.layers]
        self._snapshot = Snapshot(cache.layers)
        return cache

    def _layer(self, layer: Any) -> Any:
        """Returns a layer that can be rolled back, in place of transformers' own."""
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
            # Further back than the states that are there: from the beginning.
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
