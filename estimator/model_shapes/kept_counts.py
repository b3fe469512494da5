"""Cached counts of models: well-known ones that are no plain decoders, and the user's cache."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from estimator.model_shapes.counting import Counted, Part, count, without_storage
from estimator.model_shapes.plain_decoders import plain_count
from estimator.model_shapes.plain_families import WITHOUT_SIZE
from estimator.writing import write_whole

FILE = Path(__file__).with_name("known.json")
# Keys whose absence means the same as these values.
_BOTH = {"attention_bias": False, "tie_word_embeddings": False}
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "deepseek_v3": {**_BOTH, "moe_layer_freq": 1},
    "llama4_text": _BOTH,
}


class Known(msgspec.Struct, frozen=True, omit_defaults=True):
    """The counts of a well-known model, and the arguments of `count` that lead to these counts.

    sizes: the configuration's entries that determine sizes, as returned by the function `sizes`.
    """

    sizes: dict[str, Any]
    counted: Counted
    kept: tuple[str, ...] = ()
    part: Part = "whole"


def sizes(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the configuration's entries that determine sizes; None for unknown model families."""
    family = config.get("model_type")
    if family == "llama4" and isinstance(config.get("text_config"), Mapping):
        return sizes(config["text_config"])
    defaults = DEFAULTS.get(family) if isinstance(family, str) else None
    if defaults is None:
        return None
    kept = {name: value for name, value in config.items() if name not in WITHOUT_SIZE}
    layers, step = kept.get("num_hidden_layers"), kept.get("interleave_moe_layer_step")
    if family == "llama4_text":
        kept.pop("use_qk_norm", None)  # its norms have no weights
        if isinstance(layers, int) and isinstance(step, int) and step > 0:
            # Lists follow from other keys: each fourth layer reads all.
            local = [int(layer % 4 > 0) for layer in range(1, layers + 1)]
            follow = {"moe_layers": list(range(step - 1, layers, step)), "no_rope_layers": local}
            for name, usual in follow.items():
                if kept.get(name) in (usual, [], None):
                    kept.pop(name, None)
    return {**defaults, **kept}


def known_count(
    config: Mapping[str, Any], kept: tuple[str, ...] = (), part: Part = "whole"
) -> Counted | None:
    """Returns the counts of a well-known model, as `count` does; None for another model."""
    wanted = (sizes(config), kept, part)
    if wanted[0] is None:
        return None
    counts = (
        known.counted for known in read_known() if (known.sizes, known.kept, known.part) == wanted
    )
    return next(counts, None)


@cache
def read_known() -> tuple[Known, ...]:
    """Returns the known counts from the package's own file (scripts/count_known.py writes it)."""
    return msgspec.json.decode(FILE.read_bytes(), type=tuple[Known, ...])


def count_once(
    config: Mapping[str, Any], kept: tuple[str, ...] = (), part: Part = "whole"
) -> Counted:
    """Returns the result of `count`, from the cache if the cache contains it.

    A cached count is used only with the versions of transformers and of specplan's counting code
    that made it. A cache file that cannot be read or written is ignored.
    """
    plain = without_storage(config)
    known = known_count(plain, kept, part) or plain_count(plain, kept, part)
    if known is not None:
        return known
    from importlib.metadata import version

    described = json.dumps([plain, kept, part], default=dict, sort_keys=True)
    key = "\n".join((described, version("transformers"), _code()))
    name = f"{sha256(key.encode()).hexdigest()}.json"
    with suppress(OSError, RuntimeError, msgspec.MsgspecError):
        content = (folder() / name).read_bytes()
        stored_key, counted = msgspec.json.decode(content, type=tuple[str, Counted])
        if stored_key == key:
            return counted
    counted = count(config, kept, part)
    with suppress(OSError, RuntimeError):
        folder().mkdir(parents=True, exist_ok=True)
        write_whole(folder() / name, msgspec.json.encode((key, counted)))
    return counted


def folder() -> Path:
    """Returns the folder of cached counts: specplan/shapes in XDG_CACHE_HOME or ~/.cache."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # A relative path must be ignored (XDG Base Directory Specification 0.8).
    base = named if named.is_absolute() else Path.home() / ".cache"
    return base / "specplan" / "shapes"


def _code() -> str:
    """Returns a hash of the counting code: all files in this folder."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return sha256(b"\n".join(file.read_bytes() for file in files)).hexdigest()
