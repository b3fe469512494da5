"""EAGLE-3 (Li et al. 2025): a small head that reads three of the target's hidden states.

    s = fc [h_low, h_middle, h_high]                         (the target's, once per position)
    a = s + attention([norm_e(e), norm_h(s)])                 (queries, keys, values read 2H)
    s' = a + mlp(norm(a)),    logits = W norm(s')             (over the head's own vocabulary)

The next step reads s' in place of s.
"""

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import Cache, LlamaConfig
from transformers.models.llama.modeling_llama import (
    LlamaDecoderLayer,
    LlamaRMSNorm,
    LlamaRotaryEmbedding,
)

from reference.state_heads.head import StateHead


@dataclass(frozen=True, slots=True)
class Eagle3Shape:
    """Sizes and variants of an EAGLE-3 head.

    body: a `LlamaConfig` of the head's layers, with the target's vocabulary.
    draft_vocabulary: size of the head's own vocabulary.
    target_width: width of the target's hidden states.
    taps: boundaries of the target's layers at which the head reads states.
    norm_before_residual: whether the attention's result is added to the normalised state, not to
      the state before the norm.
    norm_output: whether the next draft step reads the state after the last norm.
    norm_before_fc: whether the target's states pass through a norm before the matrix fc.
    own_embedding, own_output: whether the head has these matrices; else it uses the target's.
    """

    body: Any
    draft_vocabulary: int
    target_width: int
    taps: tuple[int, ...]
    norm_before_residual: bool = False
    norm_output: bool = False
    norm_before_fc: bool = False
    own_embedding: bool = False
    own_output: bool = True


def shape_for(target: Any, *, hidden: int | None = None) -> Eagle3Shape:
    """Returns the sizes of a one-layer head; its `taps` are those that servers read by default.

    hidden: width of the feed-forward layer; None: four times the target's width.
    """
    config = target.config.get_text_config(decoder=True)
    layers, width = config.num_hidden_layers, config.hidden_size
    body = LlamaConfig(
        vocab_size=config.vocab_size,
        hidden_size=width,
        intermediate_size=4 * width if hidden is None else hidden,
        num_hidden_layers=1,
        num_attention_heads=config.num_attention_heads,
        num_key_value_heads=getattr(config, "num_key_value_heads", None)
        or config.num_attention_heads,
        head_dim=max(64, width // config.num_attention_heads),
        max_position_embeddings=getattr(config, "max_position_embeddings", None) or 2048,
        bos_token_id=None,
        eos_token_id=config.eos_token_id,
    )
    body._attn_implementation = "sdpa"
    taps = (2 if layers > 1 else 0, layers // 2, max(layers - 3, layers // 2))
    return Eagle3Shape(body, config.vocab_size, width, taps)


class WideLayer(LlamaDecoderLayer):  # type: ignore[misc]
    """A decoder layer whose attention reads the embedding and the state, concatenated."""

    def __init__(self, config: Any, *, norm_before_residual: bool) -> None:
        super().__init__(config, layer_idx=0)
        for projection in ("q_proj", "k_proj", "v_proj"):
            narrow, width = getattr(self.self_attn, projection), 2 * config.hidden_size
            wide = nn.Linear(width, narrow.out_features, bias=narrow.bias is not None)
            setattr(self.self_attn, projection, wide)
        self.hidden_norm = LlamaRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.norm_before_residual = norm_before_residual

    def forward(self, embedded: Tensor, states: Tensor, **attention: Any) -> Tensor:
        normed = self.hidden_norm(states)
        both = torch.cat([self.input_layernorm(embedded), normed], dim=-1)
        read, _ = self.self_attn(hidden_states=both, **attention)
        after: Tensor = (normed if self.norm_before_residual else states) + read
        transformed: Tensor = self.mlp(self.post_attention_layernorm(after))
        return after + transformed


class Eagle3(StateHead):
    """An EAGLE-3 head; its parameters are named as in checkpoints of the speculators library."""

    d2t: Tensor

    def __init__(self, shape: Eagle3Shape, target: Any) -> None:
        super().__init__(target)
        body = shape.body
        self.shape = shape
        self.taps, self.depth = shape.taps, body.num_hidden_layers
        wide = len(shape.taps) * shape.target_width
        if shape.norm_before_fc:
            self.input_norm = LlamaRMSNorm(wide, eps=body.rms_norm_eps)
        self.fc = nn.Linear(wide, body.hidden_size, bias=False)
        first = WideLayer(body, norm_before_residual=shape.norm_before_residual)
        others = (LlamaDecoderLayer(body, index) for index in range(1, self.depth))
        self.layers = nn.ModuleList([first, *others])
        self.norm = LlamaRMSNorm(body.hidden_size, eps=body.rms_norm_eps)
        self.rotary = LlamaRotaryEmbedding(body)
        if shape.own_embedding:
            self.embed_tokens = nn.Embedding(body.vocab_size, body.hidden_size)
        if shape.own_output:
            self.lm_head = nn.Linear(body.hidden_size, shape.draft_vocabulary, bias=False)
        self.register_buffer("d2t", torch.zeros(shape.draft_vocabulary, dtype=torch.int64))

    def get_output_embeddings(self) -> Any:
        return self.lm_head if self.shape.own_output else super().get_output_embeddings()

    def embed(self, tokens: Tensor) -> Tensor:
        if not self.shape.own_embedding:
            return super().embed(tokens)
        return cast(Tensor, self.embed_tokens(tokens))

    def entry(self, states: Tensor) -> Tensor:
        normed = self.input_norm(states) if self.shape.norm_before_fc else states
        return cast(Tensor, self.fc(normed))

    def forward(
        self, embedded: Tensor, states: Tensor, positions: Tensor, mask: Tensor | None, cache: Cache
    ) -> Tensor:
        given = {
            "position_embeddings": self.rotary(embedded, positions),
            "attention_mask": mask,
            "past_key_values": cache,
        }
        after: Tensor = self.layers[0](embedded, states, **given)
        for layer in list(self.layers)[1:]:
            after = layer(after, **given)
        return self.norm(after) if self.shape.norm_output else after

    def logits(self, states: Tensor) -> Tensor:
        normed = states if self.shape.norm_output else self.norm(states)
        scores: Tensor = self.get_output_embeddings()(normed)
        vocabulary = self.shape.body.vocab_size
        if self.shape.draft_vocabulary == vocabulary:
            return scores
        rows = scores.new_full((*scores.shape[:-1], vocabulary), -torch.inf)
        rows[..., torch.arange(len(self.d2t), device=scores.device) + self.d2t] = scores
        return rows
