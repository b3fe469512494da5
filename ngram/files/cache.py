"""Loads ARPA files, keeping the finished arrays beside them for the next time."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path

import numpy as np

from ngram.files.arpa_reader import read_arpa
from ngram.files.arrays import pack, unpack
from ngram.files.content_hash import content_hash
from ngram.rows.backoff import BackoffModel, build
from reference.files.whole_file import whole_file

# Part of the key: arrays of another layout are not read.
LAYOUT = "specplan n-gram arrays 1"


def cache_path(path: Path) -> Path:
    """Returns where the arrays of an ARPA file are kept."""
    return path.with_name(f"{path.name}.npz")


def load_model(path: Path) -> BackoffModel:
    """Returns the model of an ARPA file.

    The arrays are kept in PATH.npz, which is read instead of the ARPA file as long as it carries
    the hash of its content, and is replaced when it does not or is damaged.

    Raises:
      ValueError: if the ARPA file is wrong; "PATH:LINE: reason".
      OSError: if it cannot be read.
    """
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
    with whole_file(path) as partial, partial.open("wb") as file:
        np.savez(file, allow_pickle=False, key=np.array(key), **pack(model))


def _read(path: Path, key: str) -> BackoffModel | None:
    """Returns the model kept under a key; None where there is none or it cannot be read."""
    if not path.exists():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            if str(arrays["key"]) != key:
                return None
            return unpack(arrays)
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile):
        return None  # damaged: it is made anew
