"""The files of an n-gram model: its description, its cached arrays, and the embedded model."""

import hashlib
import io
import json
import struct
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from ngram.formats.arpa import read_arpa, read_counts
from ngram.rows.backoff import BackoffModel, build, pack, unpack
from reference.files import read_json, uninterrupted, whole_file

Smoothing = Literal["kneser-ney", "katz"]
FORMAT = "specplan n-gram description 1"


@dataclass(frozen=True, slots=True)
class Description:
    """How an n-gram model was made.

    arpa: SHA-256 of the ARPA file.
    tokenizer: name by which the tokenizer was loaded; for a folder, its absolute path.
    order: number of words in the longest n-grams.
    prune: for each order, n-grams with at most this count were dropped; 0: none.
    estimator: the program that trained the model: "own" or KenLM's "lmplz".
    fallback_orders: orders for which the corpus was too small to estimate discounts.
    texts, tokens: number of texts and number of tokens in the corpus.
    ngrams: number of n-grams by order.
    """

    arpa: str
    tokenizer: str
    fingerprint: str
    order: int
    prune: tuple[int, ...]
    estimator: str
    fallback_orders: tuple[int, ...]
    texts: int
    tokens: int
    ngrams: tuple[int, ...]
    smoothing: Smoothing = "kneser-ney"


def content_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(tokenizer: Any) -> str:
    """Returns a hash of a tokenizer's tokens, their ids and its end-of-text token."""
    content = json.dumps([sorted(tokenizer.get_vocab().items()), tokenizer.eos_token_id])
    return hashlib.sha256(content.encode()).hexdigest()


def description_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def write_description(path: Path, description: Description) -> None:
    """Writes the description of an ARPA file next to it."""
    content = json.dumps({"format": FORMAT, **asdict(description)}, indent=2)
    with whole_file(description_path(path)) as partial:
        partial.write_text(content + "\n", encoding="utf-8")


def read_description(path: Path) -> Description | None:
    """Returns the description of an ARPA file; None if there is none."""
    place = description_path(path)
    if not place.exists():
        return None
    try:
        data = read_json(place)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError(f"its format is not {FORMAT!r}")
        return msgspec.convert(data, Description)
    except ValueError as error:
        raise ValueError(f"{place} must describe an n-gram model: {error}") from error


def require_tokenizer(path: Path, tokenizer: Any, *, name: str) -> None:
    """Refuses an ARPA file unless its description names this file and the target's tokenizer."""
    description, place = read_description(path), description_path(path).name
    if description is None:
        reason = f"have its tokenizer's fingerprint in {place}, got none"
    elif description.arpa != content_hash(path):
        reason = f"be the file that {place} describes, got another"
    elif description.fingerprint != fingerprint(tokenizer):
        reason = f"be of the tokenizer of {name}, got one trained with {description.tokenizer}"
    else:
        return
    raise ValueError(f"{path} must {reason}; `force` takes it all the same")


# Part of the key: arrays with another layout are not read.
LAYOUT = "specplan n-gram arrays 2"


def cache_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.npz")


def load_model(path: Path) -> BackoffModel:
    """Returns the model in an ARPA file; caches its arrays in PATH.npz until the file changes."""
    read_counts(path)  # first, because a file that is no ARPA file may be endless
    key = f"{LAYOUT} {content_hash(path)}"
    model = _read(cache_path(path), key)
    if model is None:
        model = build(read_arpa(path), source=str(path))
        try:
            with whole_file(cache_path(path)) as partial:
                partial.write_bytes(sealed({"key": np.array(key), **pack(model)}))
        except OSError as error:
            warnings.warn(
                f"the arrays of {path} could not be kept for the next time: {error}", stacklevel=2
            )
    return model


def _read(path: Path, key: str) -> BackoffModel | None:
    """Returns the model in a cache file; None if it is damaged or was made for another `key`."""
    try:
        arrays = unsealed(path.read_bytes())
    except (OSError, ValueError):
        return None
    return unpack(arrays) if str(arrays.get("key")) == key else None


FOLDER = Path(__file__).parents[1] / "weights"


def embedded_model() -> BackoffModel:
    with np.load(FOLDER / "trigram.npz", allow_pickle=False) as arrays:
        return unpack(arrays)


def require_embedded_tokenizer(tokenizer: Any, *, name: str) -> None:
    """Refuses a target whose tokenizer is not the embedded one; `name` is the target's name."""
    note = json.loads((FOLDER / "training.json").read_text(encoding="utf-8"))
    if note["fingerprint"] != fingerprint(tokenizer):
        raise ValueError(
            f"draft ngram is of the embedded tokenizer, got target {name} with another; "
            "train one with: specplan ngram train"
        )


DIGITS = 64


def sealed(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Returns the bytes of a compressed .npz file that ends with a hash, to detect damage."""
    buffer = io.BytesIO()
    with uninterrupted():
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
    # The length of the comment is the last field of an archive.
    archive = buffer.getvalue()[:-2] + struct.pack("<H", DIGITS)
    return archive + _digest(archive)


def unsealed(content: bytes) -> dict[str, NDArray[Any]]:
    """Returns the arrays in the bytes that `sealed` returned; refuses other or damaged bytes."""
    if content[-DIGITS:] != _digest(content[:-DIGITS]):
        raise ValueError("arrays must carry the hash of their content, got others or damaged ones")
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return dict(file)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
