"""Counts of models, each made once: known beforehand, or kept in the user's cache folder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from estimator.shapes.counted import Counted, Part, count, without_storage
from estimator.shapes.known import known_count
from reference.atomic.whole_file import whole_file


class _Kept(msgspec.Struct, frozen=True):
    """What was counted, and of what."""

    key: str
    counted: Counted


def count_once(
    config: Mapping[str, Any], kept: tuple[str, ...] = (), part: Part = "whole"
) -> Counted:
    """Returns what `count` does, without counting where that was done before.

    A count is looked up by the configuration's content, and the versions of transformers and of our
    code that counts. A file that cannot be read or written is as if it were not there. Arguments
    and errors as in estimator.shapes.counted.count.
    """
    plain = without_storage(config)
    known = known_count(plain) if part == "whole" and not kept else None
    if known is not None:
        return known
    asked = json.dumps([plain, kept, part], default=dict, sort_keys=True)
    key = "\n".join((asked, _transformers(), _code()))
    name = f"{hashlib.sha256(key.encode()).hexdigest()}.json"
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
    """Returns the folder of kept counts: specplan/shapes in XDG_CACHE_HOME or ~/.cache.

    Raises:
      RuntimeError: if the user has no home.
    """
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # A relative one is to be ignored (XDG Base Directory Specification 0.8).
    base = named if named.is_absolute() else Path.home() / ".cache"
    return base / "specplan" / "shapes"


def _transformers() -> str:
    from importlib.metadata import version

    return version("transformers")


def _code() -> str:
    """Returns a hash of the code that counts: all files beside this one."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"\n".join(each.read_bytes() for each in files)).hexdigest()
