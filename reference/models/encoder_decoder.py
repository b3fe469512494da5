"""Encoder-decoder models (T5, mT5, BART, Marian): the encoder runs once per prompt."""

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor
from transformers import Cache, DynamicCache, EncoderDecoderCache

from reference.models.cache_layers import RoomyLayer
from reference.models.cached_model import CachedModel
from reference.models.families import ENCODER_POSITIONS, position_limit


class EncoderDecoderModel(CachedModel):
    """An encoder-decoder transformers model behind the `Model` protocol.

    Its text begins with the decoder's start token. If the model's settings force the first token
    after that (BART, mBART), the text begins with both.
    """

    kind = "encoder-decoder"

    def __init__(self, module: Any, name: str) -> None:
        super().__init__(module, name)
        # Marian models may read one vocabulary and write another.
        written = getattr(module.config, "decoder_vocab_size", None)
        if written is not None and not module.config.share_encoder_decoder_embeddings:
            self.vocabulary = written
        self.max_prompt = position_limit(module.config, ENCODER_POSITIONS)
        settings = module.generation_config
        starts = [settings.decoder_start_token_id, settings.bos_token_id]
        start = next((token for token in starts if token is not None), None)
        if start is None:
            raise ValueError(f"{name} must name its decoder's start token, got none")
        forced = settings.forced_bos_token_id
        self._beginning = [start] if forced is None else [start, forced]
        self._encoded: Any = None

    def _empty_cache(self) -> Cache:
        own = DynamicCache()
        own.layer_class_to_replicate = RoomyLayer
        return EncoderDecoderCache(own, DynamicCache())

    def beginning(self, prompt: Sequence[int]) -> list[int]:
        self._require_prompt(prompt)
        return list(self._beginning)

    @torch.inference_mode()
    def start(self, prompt: Sequence[int]) -> list[int]:
        text = self.beginning(prompt)
        self._forget()
        with self._stopwatch:
            self._encoded = self.module.get_encoder()(
                input_ids=torch.tensor([prompt], device=self.device)
            )
        # The first pass computes the prompt's keys and values for cross-attention: time of the
        # prompt, not of the first block.
        self.extend(torch.tensor(text, device=self.device))
        self.rollback(len(text) - 1)
        self._settle()
        return text

    def _logits(self, tokens: Tensor, parents: Sequence[int] | None) -> Tensor:
        if parents is not None:
            raise ValueError(
                "drafts that branch need a decoder-only model, got "
                f"{self.name} ({self.module.config.model_type})"
            )
        output = self.module(
            decoder_input_ids=tokens[None],
            encoder_outputs=self._encoded,
            past_key_values=self._cache,
            use_cache=True,
        )
        return cast(Tensor, output.logits[0])
