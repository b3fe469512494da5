"""The description of an n-gram model: a JSON file with its tokenizer's fingerprint."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from reference.atomic import whole_file
from reference.reading import read_json

Smoothing = Literal["kneser-ney", "katz"]
FORMAT = "specplan n-gram description 1"


@dataclass(frozen=True, slots=True)
class Description:
    """How an n-gram model was made.

    arpa: SHA-256 of the ARPA file.
    tokenizer: name by which the tokenizer was loaded; a folder's absolute path.
    fingerprint: fingerprint of the tokenizer.
    order: number of words in the longest n-grams.
    prune: by order, n-grams with this count or less were dropped.
    estimator: "own" or "lmplz".
    fallback_orders: orders for which the corpus was too small to estimate discounts.
    texts, tokens: size of the corpus.
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
        if data.pop("format") != FORMAT:
            raise ValueError(f"its format is not {FORMAT!r}")
        for field in ("prune", "fallback_orders", "ngrams"):
            data[field] = tuple(data[field])
        return Description(**data)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{place} must describe an n-gram model: {error}") from error


def require_tokenizer(path: Path, tokenizer: Any, *, name: str) -> None:
    """Refuses an ARPA file whose description names another tokenizer than the target's."""
    description = read_description(path)
    if description is None:
        raise ValueError(
            f"{path} must have its tokenizer's fingerprint in "
            f"{description_path(path).name}, got none; --force takes it all the same"
        )
    if description.arpa != content_hash(path):
        raise ValueError(
            f"{path} must be the file that {description_path(path).name} describes, got another; "
            "--force takes it all the same"
        )
    if description.fingerprint != fingerprint(tokenizer):
        raise ValueError(
            f"{path} must be of the tokenizer of {name}, got one trained with "
            f"{description.tokenizer}; --force takes it all the same"
        )
