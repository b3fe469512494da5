"""Reads and writes ARPA files of token ids; an error names the line and the reason."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np
from numpy.typing import NDArray

from ngram.formats.arpa_lines import LineError, parse_lines
from ngram.rows.words import MAX_ORDER, NAMES, UNKNOWN, Grams, word_name
from reference.atomic import whole_file
from reference.reading import limited

BYTES_AT_ONCE = 1 << 22
COUNT = re.compile(rb"ngram ([0-9]+)\s*=\s*([0-9]+)")


def read_arpa(path: Path) -> Iterator[Grams]:
    """Yields a model's n-grams, one order at a time.

    `ngram.rows.backoff.build` refuses duplicate n-grams and missing contexts.
    """
    with path.open("rb") as file:
        yield from _Reader(file, path).orders()


def read_counts(path: Path) -> list[int]:
    """Returns the number of n-grams of each order, from an ARPA file's header."""
    with path.open("rb") as file:
        return _Reader(file, path).counts()


class _Reader:
    """Reads one ARPA file; `line` is the number of the line read last."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.file = file
        self.path = path
        self.line = 0

    def wrong(self, reason: str, line: int | None = None) -> ValueError:
        return ValueError(f"{self.path}:{self.line if line is None else line}: {reason}")

    def read_line(self, wanted: str) -> bytes:
        """Returns the next line, stripped; raises an error if the file ends."""
        line = limited(self.file.readline, f"a line of {self.path}")
        self.line += 1
        if not line:
            raise self.wrong(f"the file ends where {wanted} should be")
        return line.strip()

    def read_filled_line(self, wanted: str) -> bytes:
        line = self.read_line(wanted)
        while not line:
            line = self.read_line(wanted)
        return line

    def orders(self) -> Iterator[Grams]:
        counts = self.counts()
        for order, count in enumerate(counts, start=1):
            self._expect(f"\\{order}-grams:")
            yield self._section(order, count, highest=order == len(counts))
        self._expect("\\end\\")
        rest = self.file.readline()
        while rest:
            self.line += 1
            if rest.strip():
                raise self.wrong(f"nothing may follow \\end\\, got {_shown(rest)}")
            rest = self.file.readline()

    def counts(self) -> list[int]:
        line = self.read_filled_line("\\data\\")
        while line.startswith(b"#"):
            line = self.read_filled_line("\\data\\")
        if line != b"\\data\\":
            raise self.wrong(f"an ARPA file must begin with \\data\\, got {_shown(line)}")
        counts: list[int] = []
        while line := self.read_line("a line of counts"):
            match = COUNT.fullmatch(line)
            if match is None or int(match[1]) != len(counts) + 1:
                raise self.wrong(
                    f"the header must say ngram {len(counts) + 1}=COUNT, got {_shown(line)}"
                )
            counts.append(int(match[2]))
        if not 1 <= len(counts) <= MAX_ORDER:
            raise self.wrong(f"a model must have 1 to {MAX_ORDER} orders, got {len(counts)}")
        return counts

    def _expect(self, wanted: str) -> None:
        line = self.read_filled_line(wanted)
        if line != wanted.encode():
            raise self.wrong(f"{wanted} should be here, got {_shown(line)}")

    def _section(self, order: int, count: int, *, highest: bool) -> Grams:
        """Returns the n-grams of one order; reads the blank line after them, too."""
        first_line = self.line + 1
        size = self.path.stat().st_size
        # The shortest line: a digit, a tab, and per word a digit and a separator.
        if count > size // (2 + 2 * order):
            raise self.wrong(f"{count} {order}-grams of the header are more than the file can hold")
        words = np.empty((count, order), np.int32)
        probability = np.empty(count)
        backoff = None if highest else np.empty(count)
        done = 0
        for piece, number in self._pieces(count):
            lines = self._parsed(piece, order=order, highest=highest, missing=count - done)
            part = slice(done, done + number)
            words[part] = lines.words
            probability[part] = lines.log10_probability
            if backoff is not None:
                backoff[part] = lines.log10_backoff
            done += number
            self.line += number
        if done < count:
            self.line += 1
            raise self.wrong(f"the file ends where {count - done} more {order}-grams should be")
        end = self.read_line("the end of the section")
        if end:
            raise self.wrong(
                f"the header says {count} {order}-grams, and a blank line should follow them, got "
                f"{_shown(end)}"
            )
        return Grams(words, probability, backoff, first_line)

    def _pieces(self, count: int) -> Iterator[tuple[bytes, int]]:
        """Yields the next lines, at most `count`, in pieces with their numbers of lines."""
        while count > 0:
            piece = self.file.read(BYTES_AT_ONCE) + limited(
                self.file.readline, f"a line of {self.path}"
            )
            newlines = np.flatnonzero(np.frombuffer(piece, np.uint8) == ord("\n"))
            number = min(len(newlines), count)
            if number == 0:
                return
            end = int(newlines[number - 1]) + 1
            self.file.seek(end - len(piece), 1)
            yield piece[:end], number
            count -= number

    def _parsed(self, piece: bytes, *, order: int, highest: bool, missing: int) -> Grams:
        try:
            return parse_lines(piece, order=order, highest=highest)
        except LineError as error:
            line = piece.splitlines()[error.line].strip()
            if not line or line.startswith(b"\\"):
                reason = (
                    f"{missing - error.line} more {order}-grams should be here by the header's "
                    f"count, got {_shown(line)}"
                )
            else:
                reason = str(error)
            raise self.wrong(reason, self.line + 1 + error.line) from error


def _shown(line: bytes) -> str:
    text = line.strip().decode("utf-8", "replace")
    return repr(text[:60]) if text else "a blank line"


LINES_AT_ONCE = 1 << 16


def write_arpa(
    path: Path, orders: Sequence[Grams], step: Callable[[], object] = lambda: None
) -> None:
    """Writes a model's orders, from 1 up, atomically; calls `step` after each order."""
    with whole_file(path) as partial, partial.open("w", encoding="ascii", newline="\n") as file:
        file.write("\\data\\\n")
        for grams in orders:
            file.write(f"ngram {grams.order}={len(grams)}\n")
        ids = max(int(grams.words.max(initial=0)) for grams in orders) + 1
        # A word's name is at its id; the special words are at their negative codes.
        names = np.empty(ids + len(NAMES), dtype=object)
        names[:ids] = [str(word) for word in range(ids)]
        for word in range(UNKNOWN, 0):
            names[word] = word_name(word)
        for grams in orders:
            file.write(f"\n\\{grams.order}-grams:\n")
            _write_lines(file, grams, names)
            step()
        file.write("\n\\end\\\n")


def _write_lines(file: TextIO, grams: Grams, names: NDArray[Any]) -> None:
    """Writes one line for each n-gram, many in one formatting call."""
    columns = [grams.log10_probability, *names[grams.words.T]]
    line = "%.8g\t" + " ".join(["%s"] * grams.order)
    if grams.log10_backoff is not None:
        columns.append(grams.log10_backoff)
        line += "\t%.8g"
    line += "\n"
    for start in range(0, len(grams), LINES_AT_ONCE):
        fields = np.empty((min(LINES_AT_ONCE, len(grams) - start), len(columns)), dtype=object)
        for number, column in enumerate(columns):
            fields[:, number] = column[start : start + LINES_AT_ONCE]
        file.write(line * len(fields) % tuple(fields.ravel().tolist()))
