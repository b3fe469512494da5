"""Loads n-gram models, and caches an ARPA file's arrays next to it, with a hash of their own."""

import hashlib
import io
import json
import struct
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngram.formats.arpa_files import read_arpa, read_counts
from ngram.formats.description import content_hash, fingerprint
from ngram.rows.backoff import BackoffModel, build, pack, unpack
from reference.atomic import uninterrupted, whole_file

# Part of the key: arrays with another layout are not read.
LAYOUT = "specplan n-gram arrays 2"


def cache_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.npz")


def load_model(path: Path) -> BackoffModel:
    """Returns the model of an ARPA file.

    Its arrays are cached in PATH.npz. That file is read instead if it carries the hash of the ARPA
    file's content, and replaced otherwise.
    """
    read_counts(path)  # first, because a file that is no ARPA file may be endless
    key = f"{LAYOUT} {content_hash(path)}"
    model = _read(cache_path(path), key)
    if model is None:
        model = build(read_arpa(path), source=str(path))
        try:
            _write(cache_path(path), key, model)
        except OSError as error:
            warnings.warn(
                f"the arrays of {path} could not be kept for the next time: {error}", stacklevel=2
            )
    return model


def _write(path: Path, key: str, model: BackoffModel) -> None:
    with whole_file(path) as partial:
        partial.write_bytes(sealed({"key": np.array(key), **pack(model)}))


def _read(path: Path, key: str) -> BackoffModel | None:
    """Returns the model cached under a key, or None."""
    if not path.exists():
        return None
    try:
        arrays = unsealed(path.read_bytes())
    except (OSError, ValueError):
        return None  # damaged, or from another file: it is replaced
    return unpack(arrays) if str(arrays.get("key")) == key else None


FOLDER = Path(__file__).parents[1] / "weights"


def embedded_model() -> BackoffModel:
    with np.load(FOLDER / "trigram.npz", allow_pickle=False) as arrays:
        return unpack(arrays)


def require_embedded_tokenizer(tokenizer: Any, *, name: str) -> None:
    """Refuses a target whose tokenizer is not the embedded one; `name` is the target's."""
    note = json.loads((FOLDER / "training.json").read_text(encoding="utf-8"))
    if note["fingerprint"] != fingerprint(tokenizer):
        raise ValueError(
            f"draft ngram is of the embedded tokenizer, got target {name} with another; "
            "train one with: specplan ngram train"
        )


DIGITS = 64


def sealed(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Returns the content of a compressed .npz file that carries its own hash.

    The archive's comment is the SHA-256 of all bytes before it, so that damage is detected. Other
    programs read the file like any .npz.
    """
    buffer = io.BytesIO()
    with uninterrupted():
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
    # The length of the comment is the last field of an archive.
    archive = buffer.getvalue()[:-2] + struct.pack("<H", DIGITS)
    return archive + _digest(archive)


def unsealed(content: bytes) -> dict[str, NDArray[Any]]:
    """Returns the arrays in the content of a file; ValueError unless `sealed` made it."""
    if content[-DIGITS:] != _digest(content[:-DIGITS]):
        raise ValueError("arrays must carry the hash of their content, got others or damaged ones")
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return dict(file)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
