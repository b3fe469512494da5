"""Reads the files of a corpus, and turns their texts into token ids."""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngram.rows.backoff import END
from ngram.rows.rows import vocabulary_of
from reference.files import read_whole

SUFFIXES = (".txt", ".py", ".jsonl", ".txt.gz", ".py.gz", ".jsonl.gz")
JSON_FIELDS = ("text", "prompt", "turns")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
CHARACTERS_AT_ONCE = 1 << 20


Document = tuple[str, int]
"""A text, and the number of unreadable parts in it (bytes, surrogate halves) that were replaced."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus in token ids.

    sentences: the ids of all texts in sequence, each text followed by END; int32.
    replaced: number of unreadable bytes and surrogate halves that were replaced.
    """

    sentences: NDArray[np.int32]
    replaced: int

    @property
    def texts(self) -> int:
        """Number of documents that are not empty."""
        return int(np.count_nonzero(self.sentences == END))

    @property
    def tokens(self) -> int:
        """Number of token ids, not counting the END after each text."""
        return len(self.sentences) - self.texts


def corpus_files(sources: Sequence[str], pattern: str | None = None) -> list[Path]:
    """Returns the given files and the files in given folders, sorted; refuses an empty result.

    pattern: selects a folder's files, for example `**/*.md`; None: all files with a known suffix.
    """
    files: list[Path] = []
    for source in sources:
        path = Path(source)
        if not path.exists():
            raise ValueError(f"corpus must be an existing file or folder, got {source}")
        inside = [path]
        if path.is_dir():
            paths = sorted(path.glob("**/*" if pattern is None else pattern))
            endings = SUFFIXES if pattern is None else ("",)
            inside = [file for file in paths if file.is_file() and file.name.endswith(endings)]
        files += inside
    if not files:
        wanted = " ".join(SUFFIXES) + " or by --glob" if pattern is None else pattern
        raise ValueError(f"corpus must have at least one file named {wanted}, got none")
    return files


def read_texts(files: Iterable[Path]) -> Iterator[Document]:
    """Yields the documents of files: one per line of a .jsonl file, else one per file.

    Files named .gz are unpacked. A .jsonl line has a field `text`, `prompt`, or `turns` (joined by
    newlines).
    """
    for path in files:
        content = _bytes(path)
        if path.name.removesuffix(".gz").endswith(".jsonl"):
            for number, line in enumerate(content.splitlines(), start=1):
                if line.strip():
                    decoded, replaced = _decoded(line)
                    text, halves = _whole(_json_text(decoded, f"{path} line {number}"))
                    yield text, replaced + halves
        else:
            yield _decoded(content)


def _bytes(path: Path) -> bytes:
    if path.suffix != ".gz":
        return path.read_bytes() if path.is_file() else read_whole(path)
    try:
        with gzip.open(path) as file:
            return file.read()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"corpus file {path} must be whole gzip, got: {error}") from error


def _decoded(content: bytes) -> Document:
    text = content.decode("utf-8", errors="replace")
    return text, text.count(REPLACEMENT) - content.count(REPLACEMENT.encode())


def _whole(text: str) -> Document:
    """Replaces lone surrogates, which tokenizers refuse; also returns how many were replaced."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole, whole.count(REPLACEMENT) - text.count(REPLACEMENT)


def _json_text(line: str, where: str) -> str:
    try:
        record: Any = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where} must be JSON, got: {error}") from error
    present = [field for field in JSON_FIELDS if isinstance(record, dict) and field in record]
    if not present:
        raise ValueError(f"{where} must have a field {', '.join(JSON_FIELDS)}, got none of them")
    value = record[present[0]]
    if present[0] == "turns" and isinstance(value, list):
        return "\n".join(map(str, value))
    if not isinstance(value, str):
        raise ValueError(f"{where}: field {present[0]} must be text, got {type(value).__name__}")
    return value


def encode_texts(texts: Iterable[Document], tokenizer: Any) -> Corpus:
    """Returns the token ids of texts that are not empty; refuses a corpus without tokens.

    A text is split where it contains the tokenizer's beginning-of-text or end-of-text token.
    """
    breaks = np.array(sorted(vocabulary_of(tokenizer).breaks), np.int32)
    parts = [np.empty(0, np.int32)]
    replaced = 0
    quiet = {"add_special_tokens": False, "return_attention_mask": False, "verbose": False}
    for batch in _batches(texts):
        replaced += sum(count for _, count in batch)
        encoded = tokenizer([text for text, _ in batch], **quiet)
        for ids in encoded["input_ids"]:
            sentence = np.array([*ids, END], np.int32)
            sentence[np.isin(sentence, breaks)] = END
            # A text that ends where it begins is empty.
            parts.append(sentence[(sentence != END) | (np.roll(sentence, 1) != END)])
    corpus = Corpus(np.concatenate(parts), replaced)
    if corpus.tokens == 0:
        raise ValueError("a corpus must have at least one token, got none")
    return corpus


def _batches(texts: Iterable[Document]) -> Iterator[list[Document]]:
    """Yields lists of texts with about CHARACTERS_AT_ONCE characters each."""
    batch: list[Document] = []
    characters = 0
    for text in texts:
        batch.append(text)
        characters += len(text[0])
        if characters >= CHARACTERS_AT_ONCE:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
