"""Decoder-only and encoder-decoder transformers models, and early exits from them."""

import copy
import inspect
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import Cache, DynamicCache, EncoderDecoderCache
from transformers.cache_utils import DynamicLayer

from reference.models.cached_model import ENCODER_POSITIONS, CachedModel, is_spread, position_limit
from reference.models.matching import require_exit
from reference.models.memory import RoomyLayer, layer_stack
from reference.models.model import FittedModel, Model
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
                f"{self._title} is an encoder, whose tokens see later ones, and cannot decode; its "
                "configuration must have is_decoder true, got false"
            )
        # `generate` also passes positions. Without them RoBERTa and its relatives count from their
        # padding id, and skip padding tokens even inside the text. Falcon with alibi accepts
        # positions but counts for itself.
        takes = "position_ids" in inspect.signature(module.forward).parameters
        self._takes_positions = takes and not getattr(module.config, "alibi", False)

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
                self._logits(torch.tensor(prompt[:-1], device=self.device), None, logits_to_keep=1)
            self._grow(len(prompt) - 1)
        self._settle()
        return text

    def _logits(
        self, tokens: Tensor, parents: Sequence[int] | None, logits_to_keep: int = 0
    ) -> Tensor:
        """Returns the logits after each of the last `logits_to_keep` tokens; 0: of all tokens."""
        if parents is None:
            end = self.length + tokens.shape[0]
            positions = torch.arange(self.length, end, device=self.device)
            return self._run(tokens, logits_to_keep, positions)
        # Elsewhere a mask does not decide what a token attends to.
        if self._windowed or not self._takes_positions:
            self._refuse_trees(
                "sliding windows" if self._windowed else "positions of its own counting"
            )
        mask, depths = tree_mask(parents, self.length, self.module.dtype)
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


class EncoderDecoderModel(CachedModel):
    """An encoder-decoder transformers model behind the `Model` protocol.

    The decoder's text begins with its start token, then `forced_bos_token_id` if the model has one.
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
        self_attention = DynamicCache()
        self_attention.layer_class_to_replicate = RoomyLayer
        return EncoderDecoderCache(self_attention, DynamicCache())

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
            raise ValueError(f"drafts that branch need a decoder-only model, got {self._title}")
        output = self.module(
            decoder_input_ids=tokens[None],
            encoder_outputs=self._encoded,
            past_key_values=self._cache,
            use_cache=True,
        )
        return cast(Tensor, output.logits[0])


def transformers_module(model: Model | None) -> Any:
    """Returns the `PreTrainedModel` that a model wraps; None if there is none."""
    if isinstance(model, FittedModel):
        return transformers_module(model.model)
    return model.module if isinstance(model, CachedModel) else None


def early_exit(target: CachedModel, layers: int) -> CachedModel:
    """Returns a draft model made of the target's first layers, at least 1 and fewer than it has.

    It shares weights, embeddings, final norm and head with the target, and has its own cache. In an
    encoder-decoder model only the decoder is shortened. The target must be on one device and have
    one stack of decoder layers (Llama, GPT-2, OPT, T5, BART, ...).
    """
    if is_spread(target.module):
        # The hooks of a spread model are bound to the module that they were made for.
        raise ValueError(
            f"an early exit needs a target on one device, got {target.name} spread by a device_map"
        )
    decoder = target.module.get_decoder()
    name, stack = layer_stack(target.module, what="an early exit", name=target.name)
    require_exit(layers, len(stack), target.name)
    path = next(path for path, module in target.module.named_modules() if module is decoder)
    module = with_child(target.module, f"{path}.{name}", nn.ModuleList(stack[:layers]))
    return type(target)(module, f"exit:{layers}")


def with_child(module: Any, path: str, child: nn.Module) -> Any:
    """Returns a copy of a module with another child at a dotted path; all else is shared."""
    first, _, rest = path.partition(".")
    clone = copy.copy(module)
    # The copied module still shares the original's table of children.
    clone._modules = dict(module._modules)
    clone._modules[first] = with_child(module._modules[first], rest, child) if rest else child
    return clone
