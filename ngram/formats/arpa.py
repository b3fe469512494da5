"""Reads and writes ARPA files of token ids; an error names the line and the reason."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np
from numpy.typing import NDArray

from ngram.rows.backoff import BEGIN, END, MAX_ORDER, NAMES, UNKNOWN, Grams, word_name
from reference.files import MOST_BYTES, limited, whole_file

LINES_AT_ONCE = 1 << 12  # few enough for a processor's cache
COUNT = re.compile(rb"ngram ([0-9]+)\s*=\s*([0-9]+)")
INK = bytes(range(33, 256))  # all but separators
TOKEN_ID = re.compile(rb"0|[1-9][0-9]{0,9}")
MAX_ID = np.iinfo(np.int32).max - len(NAMES)

Parsed = tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]
"""Words, shape (lines, order), log10 probabilities, and log10 back-off weights (0 where none)."""


def read_arpa(path: Path) -> Iterator[Grams]:
    """Yields a model's n-grams, order by order; does not check that the orders fit together."""
    with path.open("rb") as file:
        yield from _Reader(file, path).orders()


def read_counts(path: Path) -> list[int]:
    """Returns the number of n-grams of each order, from an ARPA file's header."""
    with path.open("rb") as file:
        return _Reader(file, path).counts()


class _Codes(dict[bytes, int]):
    """Maps the spelling of a word in the file to its integer code; checks each spelling once."""

    def __init__(self) -> None:
        super().__init__({name.encode(): word for word, name in NAMES.items()})

    def __missing__(self, name: bytes) -> int:
        if TOKEN_ID.fullmatch(name) is None or int(name) > MAX_ID:
            text = name.decode("utf-8", "replace")
            raise ValueError(f"a word must be a token id, <unk>, <s> or </s>, got {text}")
        return self.setdefault(name, int(name))


class _Reader:
    """Reads one ARPA file; `line` is the number of the line that was read last."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.file = file
        self.path = path
        self.line = 0
        self._codes = _Codes()

    def _wrong(self, reason: str) -> ValueError:
        return ValueError(f"{self.path}:{self.line}: {reason}")

    def _line(self, wanted: str) -> bytes:
        """Returns the next line, stripped; the error at the file's end says what was `wanted`."""
        line = limited(self.file.readline, f"a line of {self.path}")
        self.line += 1
        if not line:
            raise self._wrong(f"the file ends where {wanted} should be")
        return line.strip()

    def _filled_line(self, wanted: str) -> bytes:
        while not (line := self._line(wanted)):
            pass
        return line

    def orders(self) -> Iterator[Grams]:
        counts = self.counts()
        for order, count in enumerate(counts, start=1):
            self._expect(f"\\{order}-grams:")
            yield self._section(order, count, highest=order == len(counts))
        self._expect("\\end\\")
        while rest := self.file.readline():
            self.line += 1
            if rest.strip():
                raise self._wrong(f"nothing may follow \\end\\, got {_shown(rest)}")

    def counts(self) -> list[int]:
        while (line := self._filled_line("\\data\\")).startswith(b"#"):
            pass
        if line != b"\\data\\":
            raise self._wrong(f"an ARPA file must begin with \\data\\, got {_shown(line)}")
        counts: list[int] = []
        while line := self._line("a line of counts"):
            match = COUNT.fullmatch(line)
            if match is None or int(match[1]) != len(counts) + 1:
                raise self._wrong(
                    f"the header must say ngram {len(counts) + 1}=COUNT, got {_shown(line)}"
                )
            counts.append(int(match[2]))
        if not 1 <= len(counts) <= MAX_ORDER:
            raise self._wrong(f"a model must have 1 to {MAX_ORDER} orders, got {len(counts)}")
        return counts

    def _expect(self, wanted: str) -> None:
        line = self._filled_line(wanted)
        if line != wanted.encode():
            raise self._wrong(f"{wanted} should be here, got {_shown(line)}")

    def _section(self, order: int, count: int, *, highest: bool) -> Grams:
        """Returns the n-grams of one order; also reads the blank line that follows them."""
        first_line = self.line + 1
        # The shortest line: a digit, a tab, and per word a digit and a separator.
        if count > self.path.stat().st_size // (2 + 2 * order):
            reason = f"{count} {order}-grams of the header are more than the file can hold"
            raise self._wrong(reason)
        words = np.empty((count, order), np.int32)
        probability, backoff = np.empty(count), np.empty(count)
        done = 0
        rest = iter(partial(self.file.readline, MOST_BYTES), b"")  # a longer line is a wrong one
        while lines := list(islice(rest, min(count - done, LINES_AT_ONCE))):
            part = slice(done, done + len(lines))
            parsed = self._parsed(lines, count - done, order=order, highest=highest)
            words[part], probability[part], backoff[part] = parsed
            done = part.stop
        if done < count:
            self.line += 1
            raise self._wrong(f"the file ends where {count - done} more {order}-grams should be")
        if end := self._line("the end of the section"):
            raise self._wrong(
                f"the header says {count} {order}-grams, and a blank line should follow them, got "
                f"{_shown(end)}"
            )
        return Grams(words, probability, None if highest else backoff, first_line)

    def _parsed(self, lines: Sequence[bytes], missing: int, *, order: int, highest: bool) -> Parsed:
        """Returns the content of lines; if one is wrong, bisects them to name it in the error."""
        try:
            parsed = parse_lines(lines, self._codes, order=order, highest=highest)
        except ValueError as error:
            half = len(lines) // 2
            if half > 0:
                self._parsed(lines[:half], missing, order=order, highest=highest)
                return self._parsed(lines[half:], missing - half, order=order, highest=highest)
            self.line += 1
            reason = str(error)
            if not lines[0].strip() or lines[0].startswith(b"\\"):
                by_header = f"{missing} more {order}-grams should be here by the header's count"
                reason = f"{by_header}, got {_shown(lines[0])}"
            raise self._wrong(reason) from error
        self.line += len(lines)
        return parsed


def parse_lines(
    lines: Sequence[bytes], codes: dict[bytes, int], *, order: int, highest: bool
) -> Parsed:
    """Returns words, probabilities and back-off weights of lines; ValueError if any is wrong."""
    first, *named, last = _columns(lines, order, highest=highest)
    probability = _numbers(first, "log10 probability")
    words = np.empty((len(lines), order), np.int32)
    for place, names in enumerate(named):
        words[:, place] = np.fromiter(map(codes.__getitem__, names), np.int32, len(names))
    backoff = _numbers(last, "back-off weight")
    if (probability > 0).any():
        raise ValueError(f"a log10 probability must be at most 0, got {probability.max():g}")
    if highest and backoff.any():
        raise ValueError(f"the highest order has no back-off weights, got {backoff[0]:g}")
    if order > 1 and (words == UNKNOWN).any():
        raise ValueError("<unk> may only be a unigram")
    if (words[:, 1:] == BEGIN).any():
        raise ValueError("<s> may only come first")
    if (words[:, :-1] == END).any():
        raise ValueError("</s> may only come last")
    return words, probability, backoff


def _columns(lines: Sequence[bytes], order: int, *, highest: bool) -> list[list[bytes]]:
    """Splits lines into fields, and returns them by column; a missing back-off weight becomes 0."""
    text = b"".join(lines)
    fields = text.split()
    # The separators of one line as our writer and KenLM's write them, one after each field.
    usual = b"\t" + b" " * (order - 1) + (b"\n" if highest else b"\t\n")
    separators = text.translate(None, INK)
    if separators == usual * len(lines) and len(fields) == len(separators):
        columns = [fields[place :: len(usual)] for place in range(len(usual))]
        return [*columns, [b"0"] * len(lines)] if highest else columns
    rows = [line.split() for line in lines]
    rows = [[*row, b"0"] if len(row) == order + 1 else row for row in rows]
    if {*map(len, rows)} != {order + 2}:
        raise ValueError(
            f"a line of {order}-grams must have a log probability, {order} words and at most one "
            f"back-off weight, got {len(rows[0])} fields"
        )
    return [list(column) for column in zip(*rows, strict=True)]


def _numbers(fields: Sequence[bytes], name: str) -> NDArray[np.float64]:
    try:
        values = np.array(fields, np.float64)
    except ValueError:
        values = np.array([np.nan])
    if not np.isfinite(values).all():
        text = fields[0].decode("utf-8", "replace")
        raise ValueError(f"a {name} must be a finite number, got {text}")
    return values


def _shown(line: bytes) -> str:
    text = line.strip().decode("utf-8", "replace")
    return repr(text[:60]) if text else "a blank line"


def write_arpa(
    path: Path, orders: Sequence[Grams], step: Callable[[], object] = lambda: None
) -> None:
    """Writes a model's n-grams atomically, from order 1 up; calls `step` after each order."""
    with (
        whole_file(path) as unfinished,
        unfinished.open("w", encoding="ascii", newline="\n") as file,
    ):
        file.write("\\data\\\n")
        for grams in orders:
            file.write(f"ngram {grams.order}={len(grams)}\n")
        ids = max(int(grams.words.max(initial=0)) for grams in orders) + 1
        # A word's name is at its id; the special words are at their negative codes.
        names = np.array([word_name(word) for word in (*range(ids), *range(UNKNOWN, 0))], object)
        for grams in orders:
            file.write(f"\n\\{grams.order}-grams:\n")
            _write_lines(file, grams, names)
            step()
        file.write("\n\\end\\\n")


def _write_lines(file: TextIO, grams: Grams, names: NDArray[Any]) -> None:
    """Writes one line per n-gram, many lines per formatting call; names[word] is its spelling."""
    columns = [grams.log10_probability, *names[grams.words.T]]
    line = "%.8g\t" + " ".join(["%s"] * grams.order)
    if grams.log10_backoff is not None:
        columns.append(grams.log10_backoff)
        line += "\t%.8g"
    line += "\n"
    for start in range(0, len(grams), LINES_AT_ONCE):
        part = [column[start : start + LINES_AT_ONCE].tolist() for column in columns]
        file.write(line * len(part[0]) % tuple(chain.from_iterable(zip(*part, strict=True))))
