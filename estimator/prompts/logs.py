"""Logs with a prompt and an output per line: read in parts, encoded as ids."""

from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from estimator.prompts.files import require_characters
from reference.reading import limited

# Size of the parts that processes work on.
PART_BYTES = 1 << 19
PART_ROWS = 500
PARQUET = ".parquet"


class LogLine(msgspec.Struct):
    """One line of a log; other fields are ignored.

    prompt, output: text, or ids of the tokenizer.
    """

    prompt: str | list[int]
    output: str | list[int]


LogPart = tuple[int, Sequence[bytes | dict[str, Any]]]
"""Number of a log's line, from 1, and the lines from there on: JSON (some may be blank) or rows."""

Pair = tuple[Sequence[int], Sequence[int]]
_DECODER = msgspec.json.Decoder(LogLine)


def parts(path: Path) -> Iterator[LogPart]:
    """Yields the parts of a log in order, of about PART_BYTES or PART_ROWS each."""
    yield from _of_table(path) if path.suffix == PARQUET else _of_lines(path)


def _of_lines(path: Path) -> Iterator[LogPart]:
    number = 1
    with path.open("rb") as file:
        while block := file.read(PART_BYTES):
            if not block.endswith(b"\n"):
                block += limited(file.readline, f"a line of {path}")
            lines = block.split(b"\n")
            if not lines[-1]:
                lines.pop()
            yield number, lines
            number += len(lines)


def _of_table(path: Path) -> Iterator[LogPart]:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    number = 1
    try:
        with ParquetFile(path) as table:
            names = [name for name in ("prompt", "output") if name in table.schema_arrow.names]
            for batch in table.iter_batches(batch_size=PART_ROWS, columns=names):
                yield number, batch.to_pylist()
                number += batch.num_rows
    except ArrowException as error:
        raise ValueError(f"texts must be a Parquet file, got {path}: {error}") from None


def encoded(part: LogPart, tokenizer: Any) -> tuple[list[Pair], list[tuple[int, str]]]:
    """Returns the ids of the prompts and outputs of a part; number and reason of its bad lines.

    Without a tokenizer the log must have ids, which are not checked.
    """
    first, lines = part
    good: list[tuple[int, LogLine]] = []
    bad: list[tuple[int, str]] = []
    for number, line in enumerate(lines, start=first):
        if isinstance(line, bytes) and not line.strip():
            continue
        try:
            good.append((number, _parsed(line)))
        except ValueError as error:
            bad.append((number, str(error)))
    pairs: list[Pair] = []
    for (number, _), pair in zip(good, _ids([line for _, line in good], tokenizer), strict=True):
        reason = _refusal(pair, tokenizer)
        if reason is None:
            pairs.append(pair)
        else:
            bad.append((number, reason))
    return pairs, sorted(bad)


def _parsed(line: bytes | dict[str, Any]) -> LogLine:
    try:
        found = _DECODER.decode(line) if isinstance(line, bytes) else msgspec.convert(line, LogLine)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"must be a JSON object with prompt and output, got: {error}") from None
    for name, value in (("prompt", found.prompt), ("output", found.output)):
        if isinstance(value, str):
            require_characters(value, name)
    if not found.output:
        raise ValueError("output must not be empty, got none")
    return found


def _ids(lines: Sequence[LogLine], tokenizer: Any) -> list[tuple[Any, Any]]:
    """Returns the ids of prompts and outputs; text if there is no tokenizer."""
    prompts: list[Any] = [line.prompt for line in lines]
    outputs: list[Any] = [line.output for line in lines]
    for values, special in ((prompts, True), (outputs, False)):
        rows = [row for row, value in enumerate(values) if isinstance(value, str)]
        if rows and tokenizer is not None:
            texts = [values[row] for row in rows]
            ids = tokenizer(texts, add_special_tokens=special, verbose=False)["input_ids"]
            for row, of_row in zip(rows, ids, strict=True):
                values[row] = of_row
    return list(zip(prompts, outputs, strict=True))


def _refusal(pair: tuple[Any, Any], tokenizer: Any) -> str | None:
    for name, ids in zip(("prompt", "output"), pair, strict=True):
        if isinstance(ids, str):
            return f"{name} is text, which needs --tokenizer"
        if not ids:
            if name == "output":
                return "output must not be empty, got no token"
            continue
        low, high = min(ids), max(ids)
        if low < 0:
            return f"{name} must be ids of at least 0, got {low}"
        if tokenizer is not None and high >= len(tokenizer):
            return f"{name} must be ids of the tokenizer, below {len(tokenizer)}, got {high}"
        if high >= 1 << 31:
            return f"{name} must be ids of a tokenizer, got {high}"
    return None


# Most tokens to keep of a log of any length.
MOST_TOKENS = 1 << 18


def earlier_outputs(path: Path, tokenizer: Any) -> list[Sequence[int]]:
    """Returns the last outputs of a log, in order, with at most MOST_TOKENS tokens together.

    Refuses a log with an unusable line. Without a tokenizer the log must have ids.
    """
    outputs: deque[Sequence[int]] = deque()
    tokens = 0
    for part in parts(path):
        pairs, bad = encoded(part, tokenizer)
        if bad:
            number, reason = bad[0]
            raise ValueError(f"{path} line {number}: {reason}")
        for _, output in pairs:
            outputs.append(output[-MOST_TOKENS:])
            tokens += len(outputs[-1])
            while tokens > MOST_TOKENS:
                tokens -= len(outputs.popleft())
    if not outputs:
        raise ValueError(f"draft suffix:FILE must hold an output, got none in {path}")
    return list(outputs)
