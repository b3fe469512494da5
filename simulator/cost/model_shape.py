"""The shape of a decoder-only Transformer: what it multiplies and what it reads for every token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BYTES_PER_VALUE: Mapping[str, int] = {"float32": 4, "bfloat16": 2, "float16": 2}

# One meaning, the spellings of config.json; the first that is present and not null counts.
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
_HIDDEN = ("hidden_size", "n_embd", "n_embed", "d_model")
_HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
_KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv")
_INTERMEDIATE = ("intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size")
_DTYPE = ("torch_dtype", "dtype")

# Families whose feed-forward block has two matrices; all others have three (gate, up, down).
# Those in _FOURFOLD leave its width out of the configuration when it is four times the hidden size.
_FOURFOLD = frozenset(
    ("gpt2", "gpt_bigcode", "gptj", "gpt_neo", "codegen", "bloom", "falcon", "mpt")
)
_UNGATED = _FOURFOLD | frozenset(
    ("gpt_neox", "opt", "phi", "starcoder2", "persimmon", "nemotron", "xglm", "biogpt")
)

_UNSUPPORTED = {
    "num_local_experts": "a mixture of experts",
    "num_experts": "a mixture of experts",
    "n_routed_experts": "a mixture of experts",
    "kv_lora_rank": "a compressed key-value cache",
    "quantization_config": "quantised weights",
}


@dataclass(frozen=True, slots=True)
class ModelShape:
    """A decoder-only Transformer by the sizes of its matrices, biases and norms left out (0.1 %).

    layers, hidden, intermediate, heads, kv_heads, head_dim, vocabulary: sizes, at least 1.
    dtype: number format of weights and key-value cache: "float32", "bfloat16" or "float16".
    gated: whether the feed-forward block has a third, gating, matrix.
    tied_embeddings: whether the output matrix is the input embedding.
    """

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    dtype: str
    gated: bool
    tied_embeddings: bool

    @classmethod
    def from_config(cls, config: Mapping[str, Any], *, dtype: str | None = None) -> ModelShape:
        """Returns the shape that a Hugging Face config.json describes.

        Args:
          config: the parsed file; the part under "text_config" where there is one.
          dtype: number format at run time; without it, the one the file names.

        Raises:
          ValueError: if the file lacks a needed field (the message names it), has one that is not
            a positive integer, or describes a model of another kind.
        """
        fields: Mapping[str, Any] = config.get("text_config", config)
        _refuse_other_kinds(config)
        _refuse_other_kinds(fields)
        family = fields.get("model_type", "gpt2" if "n_embd" in fields else "")
        hidden = _size(fields, _HIDDEN)
        heads = _size(fields, _HEADS)
        if _first(fields, ("head_dim",)) is None and hidden % heads != 0:
            raise ValueError(
                f"config.json has no head_dim, and hidden size {hidden} is not a multiple of "
                f"{heads} heads"
            )
        return cls(
            layers=_size(fields, _LAYERS),
            hidden=hidden,
            intermediate=_size(
                fields, _INTERMEDIATE, default=4 * hidden if family in _FOURFOLD else None
            ),
            heads=heads,
            kv_heads=_size(
                fields, _KV_HEADS, default=1 if fields.get("multi_query") is True else heads
            ),
            head_dim=_size(fields, ("head_dim",), default=max(1, hidden // heads)),
            vocabulary=_size(fields, ("vocab_size",)),
            dtype=_number_format(fields, config) if dtype is None else _known_format(dtype),
            gated=family not in _UNGATED,
            tied_embeddings=bool(fields.get("tie_word_embeddings", True)),
        )

    @property
    def bytes_per_value(self) -> int:
        """Bytes of one weight or one cached value."""
        return BYTES_PER_VALUE[self.dtype]

    @property
    def matrix_parameters(self) -> int:
        """Weights that one forward pass multiplies by: all layers and the output matrix."""
        attention = self.hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads)
        feed_forward = (3 if self.gated else 2) * self.hidden * self.intermediate
        return self.layers * (attention + feed_forward) + self.hidden * self.vocabulary

    @property
    def parameters(self) -> int:
        """All weights, the input embedding counted once more where it is a matrix of its own."""
        embedding = 0 if self.tied_embeddings else self.hidden * self.vocabulary
        return self.matrix_parameters + embedding

    @property
    def cache_bytes_per_token(self) -> int:
        """Bytes that the key-value cache grows by with each token."""
        return 2 * self.layers * self.kv_heads * self.head_dim * self.bytes_per_value


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """Returns the first value under these names that is neither absent nor null, or None."""
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _size(fields: Mapping[str, Any], names: tuple[str, ...], *, default: int | None = None) -> int:
    value = _first(fields, names)
    if value is None:
        value = default
    if value is None:
        others = f" (nor {', '.join(names[1:])})" if len(names) > 1 else ""
        raise ValueError(f"config.json has no {names[0]}{others}")
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        name = next((name for name in names if fields.get(name) is not None), names[0])
        raise ValueError(f"{name} in config.json must be an integer of at least 1, got {value!r}")
    return value


def _number_format(fields: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    value = _first(fields, _DTYPE)
    if value is None:
        value = _first(config, _DTYPE)
    if value is None:
        raise ValueError("config.json has no torch_dtype (nor dtype): name the number format")
    return _known_format(str(value).removeprefix("torch."))


def _known_format(dtype: str) -> str:
    if dtype not in BYTES_PER_VALUE:
        raise ValueError(f"dtype must be one of {', '.join(BYTES_PER_VALUE)}, got {dtype}")
    return dtype


def _refuse_other_kinds(fields: Mapping[str, Any]) -> None:
    if fields.get("is_encoder_decoder") is True:
        raise ValueError("config.json describes an encoder–decoder, not a decoder-only model")
    for name, kind in _UNSUPPORTED.items():
        if fields.get(name) not in (None, 0, 1):
            raise ValueError(
                f"config.json describes {kind} ({name}), which this cost model does not cover"
            )
