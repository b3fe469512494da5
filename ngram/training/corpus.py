"""Corpora: files and folders become texts, and texts become sentences of token ids."""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngram.rows.words import END, vocabulary_of
from reference.reading import read_whole

SUFFIXES = (".txt", ".py", ".jsonl", ".txt.gz", ".py.gz", ".jsonl.gz")
JSON_FIELDS = ("text", "prompt", "turns")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
CHARACTERS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class CorpusText:
    """One document.

    text: the content of a file, or of one line of a .jsonl file.
    replaced: number of unreadable byte sequences and halves of surrogate pairs that were replaced.
    """

    text: str
    replaced: int


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus in token ids.

    sentences: all texts in sequence, each followed by END, shape (tokens + texts,), int32.
    replaced: number of unreadable sequences that were replaced, in all texts.
    """

    sentences: NDArray[np.int32]
    replaced: int

    @property
    def texts(self) -> int:
        """Number of documents that are not empty."""
        return int(np.count_nonzero(self.sentences == END))

    @property
    def tokens(self) -> int:
        """Number of ids, without the ends of texts."""
        return len(self.sentences) - self.texts


def corpus_files(sources: Sequence[str], pattern: str | None = None) -> list[Path]:
    """Returns the files of a corpus: the given files, and those in the given folders, sorted.

    pattern: selects a folder's files, for example `**/*.md`; None: all files with a known suffix.

    Raises:
      ValueError: if a source does not exist, or if no file is found.
    """
    files: list[Path] = []
    for source in sources:
        path = Path(source)
        if path.is_dir():
            inside = path.rglob("*") if pattern is None else path.glob(pattern)
            files += sorted(
                file
                for file in inside
                if file.is_file() and (pattern is not None or file.name.endswith(SUFFIXES))
            )
        elif path.exists():
            files.append(path)
        else:
            raise ValueError(f"corpus must be an existing file or folder, got {source}")
    if not files:
        wanted = " ".join(SUFFIXES) + " or by --glob" if pattern is None else pattern
        raise ValueError(f"corpus must have at least one file named {wanted}, got none")
    return files


def read_texts(files: Iterable[Path]) -> Iterator[CorpusText]:
    """Yields the documents of files: one per line of a .jsonl file, else one per file.

    Files named .gz are unpacked. A .jsonl line has a field `text`, `prompt`, or `turns` (joined by
    newlines).
    """
    for path in files:
        content = _bytes(path)
        if path.name.removesuffix(".gz").endswith(".jsonl"):
            for number, line in enumerate(content.splitlines(), start=1):
                if line.strip():
                    decoded = _decoded(line)
                    where = f"{path} line {number}"
                    whole = _whole(_json_text(decoded.text, where))
                    yield CorpusText(whole.text, decoded.replaced + whole.replaced)
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


def _decoded(content: bytes) -> CorpusText:
    text = content.decode("utf-8", errors="replace")
    replaced = text.count(REPLACEMENT) - content.count(REPLACEMENT.encode())
    return CorpusText(text, replaced)


def _whole(text: str) -> CorpusText:
    """Returns text without halves of surrogate pairs: JSON allows them, tokenizers do not."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return CorpusText(whole, whole.count(REPLACEMENT) - text.count(REPLACEMENT))


def _json_text(line: str, where: str) -> str:
    try:
        record: Any = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where} must be JSON, got: {error}") from error
    for name in JSON_FIELDS:
        if isinstance(record, dict) and name in record:
            value = record[name]
            if name == "turns" and isinstance(value, list):
                value = "\n".join(map(str, value))
            if isinstance(value, str):
                return value
            raise ValueError(f"{where}: field {name} must be text, got {type(value).__name__}")
    raise ValueError(f"{where} must have a field {', '.join(JSON_FIELDS)}, got none of them")


def encode_texts(texts: Iterable[CorpusText], tokenizer: Any) -> Corpus:
    """Returns texts as sentences of token ids; one batch of texts is in memory at a time.

    A text that contains the tokenizer's beginning-of-text or end-of-text token is divided there.
    Texts without tokens are left out.

    Raises:
      ValueError: if the tokenizer has no end-of-text token, or if no text has tokens.
    """
    breaks = np.array(sorted(vocabulary_of(tokenizer).breaks), np.int32)
    parts = [np.empty(0, np.int32)]
    replaced = 0
    for batch in _batches(texts):
        replaced += sum(text.replaced for text in batch)
        encoded = tokenizer(
            [text.text for text in batch],
            add_special_tokens=False,
            return_attention_mask=False,
            verbose=False,
        )
        for ids in encoded["input_ids"]:
            sentence = np.array([*ids, END], np.int32)
            sentence[np.isin(sentence, breaks)] = END
            # A text that ends where it begins is empty.
            parts.append(sentence[(sentence != END) | (np.roll(sentence, 1) != END)])
    corpus = Corpus(np.concatenate(parts), replaced)
    if corpus.tokens == 0:
        raise ValueError("a corpus must have at least one token, got none")
    return corpus


def _batches(texts: Iterable[CorpusText]) -> Iterator[list[CorpusText]]:
    """Yields lists of texts, each list with about CHARACTERS_AT_ONCE characters."""
    batch: list[CorpusText] = []
    characters = 0
    for text in texts:
        batch.append(text)
        characters += len(text.text)
        if characters >= CHARACTERS_AT_ONCE:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
