"""Writes models as ARPA files."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from ngram.rows.words import NAMES, UNKNOWN, Grams, word_name
from reference.atomic import whole_file

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
