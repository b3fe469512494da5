"""A log of texts, read in parts that processes share: a prompt and an output on each line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from estimator.prompt_files import require_characters

# What a process takes at once.
PART_BYTES = 1 << 19
PART_ROWS = 500
PARQUET = ".parquet"


class Line(msgspec.Struct):
    """A text as its line has it; other fields are passed over.

    prompt, output: text, or ids of the tokenizer.
    """

    prompt: str | list[int]
    output: str | list[int]


@dataclass(frozen=True, slots=True)
class Part:
    """Some lines of a log.

    number: of the first, from 1.
    lines: JSON, blank ones among them, or what a table's rows hold.
    """

    number: int
    lines: Sequence[bytes] | Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Bad:
    """A line that cannot be used: its number, and why."""

    number: int
    reason: str


_DECODER = msgspec.json.Decoder(Line)


def parts(path: Path) -> Iterator[Part]:
    """Yields the parts of a log, in its order; they do not depend on who reads them.

    Raises:
      OSError: if it cannot be read.
      ModuleNotFoundError: if it is Parquet and pyarrow is missing.
    """
    yield from _of_table(path) if path.suffix == PARQUET else _of_lines(path)


def read(part: Part) -> Iterator[tuple[int, Line | Bad]]:
    """Yields the lines of a part with their numbers; blank ones are passed over."""
    for number, line in enumerate(part.lines, start=part.number):
        if isinstance(line, bytes) and not line.strip():
            continue
        try:
            found = (
                _DECODER.decode(line)
                if isinstance(line, bytes)
                else msgspec.convert(line, Line)
            )
            for name in ("prompt", "output"):
                value = getattr(found, name)
                if isinstance(value, str):
                    require_characters(value, name)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            yield number, Bad(number, f"must be a JSON object with prompt and output, got: {error}")
        except ValueError as error:
            yield number, Bad(number, str(error))
        else:
            empty = len(found.output) == 0
            yield number, Bad(number, "output must not be empty, got none") if empty else found


def _of_lines(path: Path) -> Iterator[Part]:
    number = 1
    with path.open("rb") as file:
        while block := file.read(PART_BYTES):
            if not block.endswith(b"\n"):
                block += file.readline()
            lines = block.split(b"\n")
            if not lines[-1]:
                lines.pop()
            yield Part(number, lines)
            number += len(lines)


def _of_table(path: Path) -> Iterator[Part]:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    number = 1
    try:
        with ParquetFile(path) as table:
            names = [name for name in ("prompt", "output") if name in table.schema_arrow.names]
            for batch in table.iter_batches(batch_size=PART_ROWS, columns=names):
                yield Part(number, batch.to_pylist())
                number += batch.num_rows
    except ArrowException as error:
        raise ValueError(f"texts must be a Parquet file, got {path}: {error}") from None
