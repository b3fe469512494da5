"""Decoder-only transformers models: the text begins with the prompt."""

import inspect
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer

from reference.models.cache_layers import RoomyLayer
from reference.models.cached_model import CachedModel
from reference.models.text_tree import tree_mask


class CausalModel(CachedModel):
    """A decoder-only transformers model behind the `Model` protocol."""

    kind = "decoder-only"

    def __init__(self, module: Any, name: str) -> None:
        super().__init__(module, name)
        # Only BERT and its relatives have both settings.
        family = type(module.config)
        encoder = hasattr(family, "is_decoder") and hasattr(family, "add_cross_attention")
        if encoder and not module.config.is_decoder:
            raise ValueError(
                f"{name} ({module.config.model_type}) is an encoder, whose tokens see later ones, "
                "and cannot decode; its configuration must have is_decoder true, got false"
            )
        # `generate` also passes positions. Without them RoBERTa and its relatives count from their
        # padding id, and skip padding tokens even inside the text. Falcon with alibi accepts
        # positions but counts for itself.
        self._takes_positions = "position_ids" in inspect.signature(
            module.forward
        ).parameters and not getattr(module.config, "alibi", False)

    def _empty_cache(self) -> Cache:
        cache = DynamicCache(config=self.module.config)
        if not cache.is_croppable:
            self._refuse()
        # Layers with a sliding window also keep all tokens: a rollback may bring tokens back into
        # the window. Their attention masks implement the window.
        self._windowed = any(cache.is_sliding)
        cache.layers = [
            RoomyLayer() if sliding or type(layer) is DynamicLayer else layer
            for layer, sliding in zip(cache.layers, cache.is_sliding, strict=True)
        ]
        return cache

    def beginning(self, prompt: Sequence[int]) -> list[int]:
        self._require_prompt(prompt)
        return list(prompt)

    @torch.inference_mode()
    def start(self, prompt: Sequence[int]) -> list[int]:
        text = self.beginning(prompt)
        self._forget()
        if len(prompt) > 1:
            with self._stopwatch:
                self._forward(torch.tensor(prompt[:-1], device=self.device), logits_to_keep=1)
            self._grow(len(prompt) - 1)
        self._settle()
        return text

    def _logits(self, tokens: Tensor, parents: Sequence[int] | None) -> Tensor:
        return self._forward(tokens, logits_to_keep=0, parents=parents)

    def _require_tree_mask(self) -> None:
        """Refuses branching drafts where a mask does not decide what a token attends to."""
        if self._windowed or not self._takes_positions:
            lacks = "sliding windows" if self._windowed else "positions of its own counting"
            raise ValueError(
                "drafts that branch need a model that reads a tree by an attention mask, "
                f"got {self.name} ({self.module.config.model_type}) with {lacks}"
            )

    def _forward(
        self, tokens: Tensor, logits_to_keep: int, parents: Sequence[int] | None = None
    ) -> Tensor:
        """Returns the last `logits_to_keep` rows of a pass; 0: all rows."""
        if parents is None:
            end = self._length + len(tokens)
            positions = torch.arange(self._length, end, device=self.device)
            return self._run(tokens, logits_to_keep, positions)
        self._require_tree_mask()
        mask, depths = tree_mask(parents, self._length, self.module.dtype)
        return self._run(tokens, logits_to_keep, depths.to(self.device), mask.to(self.device))

    def _run(
        self, tokens: Tensor, logits_to_keep: int, positions: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        given = {"position_ids": positions[None]} if self._takes_positions else {}
        if mask is not None:
            given["attention_mask"] = mask
        output = self.module(
            input_ids=tokens[None],
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=logits_to_keep,
            **given,
        )
        return cast(Tensor, output.logits[0])
