"""Counts of models, kept in a cache of the user where transformers had to build the model."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from estimator.model_shapes.counting import Counted, Part, count, without_storage
from estimator.model_shapes.plain_decoders import plain_count
from estimator.writing import write_whole


def count_once(
    config: Mapping[str, Any], kept: tuple[str, ...] = (), part: Part = "whole"
) -> Counted:
    """Returns the result of `count`, from the configuration or from the cache if they have it.

    A cached count is used only with the versions of transformers and of specplan's counting code
    that made it. A cache file that cannot be read or written is ignored.
    """
    plain = without_storage(config)
    counted = plain_count(plain, kept, part)
    if counted is not None:
        return counted
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
