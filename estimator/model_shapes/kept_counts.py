"""Cached counts of models: the well-known models', and the user's cache."""

import json
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from estimator.model_shapes.meta_pass import without_storage
from estimator.model_shapes.shape import Counted, Part, count

FILE = Path(__file__).with_name("known.json")
# Keys of a configuration that change no size in the families of known models.
WITHOUT_SIZE = frozenset((
    "architectures", "attention_dropout", "bos_token_id", "draft_vocab_size", "dtype",
    "eos_token_id", "hidden_act", "initializer_range", "max_position_embeddings",
    "max_window_layers", "norm_topk_prob", "output_router_logits", "pretraining_tp",
    "rms_norm_eps", "rope_parameters", "rope_scaling", "rope_theta", "router_aux_loss_coef",
    "torch_dtype", "transformers_version", "use_cache", "_name_or_path",
))  # fmt: skip
# Keys whose absence means the same as these values.
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
    """A configuration's sizes (see `sizes`), and the counts of its model."""

    sizes: dict[str, Any]
    counted: Counted


def sizes(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the parts of a configuration that determine sizes; None for an unknown family."""
    family = config.get("model_type")
    defaults = DEFAULTS.get(family) if isinstance(family, str) else None
    if defaults is None:
        return None
    found = {name: value for name, value in config.items() if name not in WITHOUT_SIZE}
    heads, hidden = found.get("num_attention_heads"), found.get("hidden_size")
    if family == "llama" and isinstance(heads, int) and isinstance(hidden, int) and heads > 0:
        # A head has an equal share of the width unless the configuration states its size.
        found["head_dim"] = found.get("head_dim") or hidden // heads
    return {**defaults, **found}


def known_count(config: Mapping[str, Any]) -> Counted | None:
    """Returns the counts of a well-known model; None for another model."""
    found = sizes(config)
    if found is None:
        return None
    return next((each.counted for each in read_known() if each.sizes == found), None)


@lru_cache(maxsize=1)
def read_known() -> tuple[Known, ...]:
    """Returns the counts that the package contains (scripts/count_known.py writes them)."""
    return msgspec.json.decode(FILE.read_bytes(), type=tuple[Known, ...])


class _Kept(msgspec.Struct, frozen=True):
    """Cached counts and their key."""

    key: str
    counted: Counted


def count_once(
    config: Mapping[str, Any], kept: tuple[str, ...] = (), part: Part = "whole"
) -> Counted:
    """Returns the result of `count`, from the cache if it has it.

    The key is the configuration's content and the versions of transformers and of our counting
    code. A file that cannot be read or written is ignored.
    """
    plain = without_storage(config)
    known = known_count(plain) if part == "whole" and not kept else None
    if known is not None:
        return known
    from hashlib import sha256
    from importlib.metadata import version

    from reference.atomic import whole_file

    described = json.dumps([plain, kept, part], default=dict, sort_keys=True)
    key = "\n".join((described, version("transformers"), _code()))
    name = f"{sha256(key.encode()).hexdigest()}.json"
    try:
        found = msgspec.json.decode((folder() / name).read_bytes(), type=_Kept)
        if found.key == key:
            return found.counted
    except (OSError, RuntimeError, msgspec.MsgspecError):
        pass
    counted = count(config, kept, part)
    try:
        folder().mkdir(parents=True, exist_ok=True)
        with whole_file(folder() / name) as partial:
            partial.write_bytes(msgspec.json.encode(_Kept(key, counted)))
    except (OSError, RuntimeError):
        pass
    return counted


def folder() -> Path:
    """Returns the folder of cached counts: specplan/shapes in XDG_CACHE_HOME or ~/.cache."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # A relative path must be ignored (XDG Base Directory Specification 0.8).
    base = named if named.is_absolute() else Path.home() / ".cache"
    return base / "specplan" / "shapes"


def _code() -> str:
    """Returns a hash of the counting code: all files in this folder."""
    from hashlib import sha256

    files = sorted(Path(__file__).parent.glob("*.py"))
    return sha256(b"\n".join(each.read_bytes() for each in files)).hexdigest()
