"""Counts of well-known models that come with the package, found by what sizes their weights."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from estimator.shapes.counted import Counted

FILE = Path(__file__).with_name("known.json")
# What a configuration may say without changing a size, in the families of known models.
WITHOUT_SIZE = frozenset((
    "architectures", "attention_dropout", "bos_token_id", "draft_vocab_size", "dtype",
    "eos_token_id", "hidden_act", "initializer_range", "max_position_embeddings",
    "max_window_layers", "norm_topk_prob", "output_router_logits", "pretraining_tp",
    "rms_norm_eps", "rope_parameters", "rope_scaling", "rope_theta", "router_aux_loss_coef",
    "torch_dtype", "transformers_version", "use_cache", "_name_or_path",
))  # fmt: skip
# What is the same said as unsaid.
_BOTH = {"attention_bias": False, "tie_word_embeddings": False}
_QWEN3 = {**_BOTH, "sliding_window": None, "use_sliding_window": False}
DEFAULTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "llama": {**_BOTH, "mlp_bias": False},
        "qwen3": _QWEN3,
        "qwen3_moe": {**_QWEN3, "decoder_sparse_step": 1, "mlp_only_layers": []},
    }
)


class Known(msgspec.Struct, frozen=True):
    """A configuration's sizes, as `sizes` gives them, and what was counted of them."""

    sizes: dict[str, Any]
    counted: Counted


def sizes(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns what a configuration says of sizes, or None of a family that is not known."""
    family = config.get("model_type")
    defaults = DEFAULTS.get(family) if isinstance(family, str) else None
    if defaults is None:
        return None
    found = {name: value for name, value in config.items() if name not in WITHOUT_SIZE}
    heads, hidden = found.get("num_attention_heads"), found.get("hidden_size")
    if family == "llama" and isinstance(heads, int) and isinstance(hidden, int) and heads > 0:
        # A head has its share of the width unless the configuration says otherwise.
        found["head_dim"] = found.get("head_dim") or hidden // heads
    return {**defaults, **found}


def known_count(config: Mapping[str, Any]) -> Counted | None:
    """Returns what was counted of a well-known model, or None of another.

    Args:
      config: the parsed config.json, without its quantization_config.
    """
    found = sizes(config)
    if found is None:
        return None
    return next((each.counted for each in read_known() if each.sizes == found), None)


@lru_cache(maxsize=1)
def read_known() -> tuple[Known, ...]:
    """Returns the counts that come with the package (scripts/count_known.py writes them)."""
    return msgspec.json.decode(FILE.read_bytes(), type=tuple[Known, ...])
