"""Loads ARPA files, and caches the finished arrays in a file next to them."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ngram.formats.arpa_reader import read_arpa, read_counts
from ngram.formats.description import content_hash, fingerprint
from ngram.formats.sealed_arrays import sealed, unsealed
from ngram.rows.backoff import BackoffModel, build, pack, unpack
from reference.atomic import whole_file

# Part of the key: arrays with another layout are not read.
LAYOUT = "specplan n-gram arrays 2"


def cache_path(path: Path) -> Path:
    """Returns the path of the cached arrays of an ARPA file."""
    return path.with_name(f"{path.name}.npz")


def load_model(path: Path) -> BackoffModel:
    """Returns the model of an ARPA file.

    The arrays are cached in PATH.npz. It is read instead of the ARPA file if it has the hash of the
    ARPA file's content, and replaced if it does not or is damaged.
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
    """Returns the model cached under a key; None if there is none or it cannot be read."""
    if not path.exists():
        return None
    try:
        arrays = unsealed(path.read_bytes())
    except (OSError, ValueError):
        return None  # damaged, or from another file: it is replaced
    return unpack(arrays) if str(arrays.get("key")) == key else None


FOLDER = Path(__file__).parents[1] / "weights"


def embedded_model() -> BackoffModel:
    """Returns the embedded trigram."""
    with np.load(FOLDER / "trigram.npz", allow_pickle=False) as arrays:
        return unpack(arrays)


def require_embedded_tokenizer(tokenizer: Any, *, name: str) -> None:
    """Refuses a target that does not use the embedded tokenizer.

    Args:
      tokenizer: the target's tokenizer.
      name: the target's name, for the message.

    Raises:
      ValueError: if the tokenizers differ.
    """
    note = json.loads((FOLDER / "training.json").read_text(encoding="utf-8"))
    if note["fingerprint"] != fingerprint(tokenizer):
        raise ValueError(
            f"draft ngram is of the embedded tokenizer, got target {name} with another; "
            "train one with: specplan ngram train"
        )
