"""Reads ARPA files of token ids; an error names the line and the reason."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ngram.formats.arpa_lines import LineError, Lines, parse_lines
from ngram.rows.words import MAX_ORDER, Grams
from reference.reading import limited

BYTES_AT_ONCE = 1 << 22
COUNT = re.compile(rb"ngram ([0-9]+)\s*=\s*([0-9]+)")


def read_arpa(path: Path) -> Iterator[Grams]:
    """Yields a model's n-grams by order, from 1 up, in the order of the file.

    `ngram.rows.backoff` checks for duplicate n-grams and missing contexts.
    """
    with path.open("rb") as file:
        yield from _Reader(file, path).orders()


def read_counts(path: Path) -> list[int]:
    """Returns the number of n-grams of each order according to an ARPA file's header."""
    with path.open("rb") as file:
        return _Reader(file, path).counts()


class _Reader:
    """A position in an ARPA file."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.file = file
        self.path = path
        self.line = 0

    def wrong(self, reason: str, line: int | None = None) -> ValueError:
        """Returns an error for a line; by default for the line read last."""
        return ValueError(f"{self.path}:{self.line if line is None else line}: {reason}")

    def read_line(self, wanted: str) -> bytes:
        """Returns the next line without surrounding white space; an error if the file ends."""
        line = limited(self.file.readline, f"a line of {self.path}")
        self.line += 1
        if not line:
            raise self.wrong(f"the file ends where {wanted} should be")
        return line.strip()

    def read_filled_line(self, wanted: str) -> bytes:
        """Returns the next line that is not blank."""
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
        """Returns the header's number of n-grams of each order."""
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
        """Returns the n-grams of one order, read with the blank line that ends it."""
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
        """Yields the next lines, at most `count`, in pieces, each with its number of lines."""
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

    def _parsed(self, piece: bytes, *, order: int, highest: bool, missing: int) -> Lines:
        """Returns the content of lines."""
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
    """Returns the beginning of a line, for a message."""
    text = line.strip().decode("utf-8", "replace")
    if not text:
        return "a blank line"
    return repr(text[:60])
