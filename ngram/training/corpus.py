"""Corpora: from files and folders to texts, and from texts to sentences of token ids."""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngram.rows.vocabulary import vocabulary_of
from ngram.rows.words import END
from reference.reading import read_whole

SUFFIXES = (".txt", ".py", ".jsonl", ".txt.gz", ".py.gz", ".jsonl.gz")
JSON_FIELDS = ("text", "prompt", "turns")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
CHARACTERS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class CorpusText:
    """One document.

    text: its content; in a .jsonl file one line's.
    replaced: how many unreadable byte sequences, or halves of surrogate pairs, were replaced in it.
    """

    text: str
    replaced: int


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus in token ids.

    sentences: all texts on end, each followed by END, shape (tokens + texts,), int32.
    replaced: what was unreadable and replaced, in all texts.
    """

    sentences: NDArray[np.int32]
    replaced: int

    @property
    def texts(self) -> int:
        """Documents that are not empty."""
        return int(np.count_nonzero(self.sentences == END))

    @property
    def tokens(self) -> int:
        """Ids, ends of text not counted."""
        return len(self.sentences) - self.texts


def corpus_files(sources: Sequence[str], pattern: str | None = None) -> list[Path]:
    """Returns the files of a corpus: files as given, and those in folders, sorted.

    pattern: which of a folder's files, such as `**/*.md`; by default all with a known suffix.

    Raises:
      ValueError: if a source does not exist, or nothing is found.
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
    """Yields the documents of files: one a line of .jsonl, else one a file; .gz is unpacked.

    A .jsonl line has a field `text`, `prompt`, or `turns` (joined by newlines).

    Raises:
      ValueError: if a file is no gzip file though named .gz, or a line is not such JSON.
      OSError: if a file cannot be read.
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
    """Returns text without halves of surrogate pairs: JSON can write them, no tokenizer reads."""
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
    """Returns texts as sentences of token ids; one batch of texts is held at a time.

    A beginning or end of text that the tokenizer finds written in a text divides it. Texts without
    tokens are left out.

    Raises:
      ValueError: if the tokenizer has no end of text, or there is no text with tokens.
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
            # What ends where it begins is no text.
            parts.append(sentence[(sentence != END) | (np.roll(sentence, 1) != END)])
    corpus = Corpus(np.concatenate(parts), replaced)
    if corpus.tokens == 0:
        raise ValueError("a corpus must have at least one token, got none")
    return corpus


def _batches(texts: Iterable[CorpusText]) -> Iterator[list[CorpusText]]:
    """Yields texts in lists, each of some CHARACTERS_AT_ONCE."""
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
