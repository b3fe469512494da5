"""Logs with a prompt and an output per line: read in parts, encoded as ids."""

from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from estimator.prompts.files import require_characters
from reference.files import limited

# Bytes and rows of the parts that processes work on.
PART_BYTES = 1 << 19
PART_ROWS = 500
PARQUET = ".parquet"


class LogLine(msgspec.Struct):
    """One line of a log. Prompt and output are text or token ids; other fields are ignored."""

    prompt: str | list[int]
    output: str | list[int]


LogPart = tuple[int, Sequence[bytes | dict[str, Any]]]
"""Number of a log's line, from 1, and the lines from there on: JSON (some may be blank) or rows."""

Pair = tuple[Sequence[int], Sequence[int]]
_DECODER = msgspec.json.Decoder(LogLine)


def parts(path: Path) -> Iterator[LogPart]:
    """Yields a log in parts of about PART_BYTES (JSON) or PART_ROWS (Parquet) each, in order."""
    number = 1
    for lines in _of_table(path) if path.suffix == PARQUET else _of_text(path):
        yield number, lines
        number += len(lines)


def _of_text(path: Path) -> Iterator[list[bytes]]:
    with path.open("rb") as file:
        while block := file.read(PART_BYTES):
            if not block.endswith(b"\n"):
                block += limited(file.readline, f"a line of {path}")
            yield block.removesuffix(b"\n").split(b"\n")


def _of_table(path: Path) -> Iterator[list[dict[str, Any]]]:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as table:
            names = [name for name in ("prompt", "output") if name in table.schema_arrow.names]
            for batch in table.iter_batches(batch_size=PART_ROWS, columns=names):
                yield batch.to_pylist()
    except ArrowException as error:
        raise ValueError(f"texts must be a Parquet file, got {path}: {error}") from None


def encoded(part: LogPart, tokenizer: Any) -> tuple[list[Pair], list[tuple[int, str]]]:
    """Returns pairs (prompt ids, output ids) of a part of a log, and bad lines (number, reason).

    tokenizer: converts text to ids; None: the log must contain ids, which are not checked.
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
    prompts = _ids([line.prompt for _, line in good], tokenizer, special=True)
    outputs = _ids([line.output for _, line in good], tokenizer, special=False)
    pairs: list[Pair] = []
    for (number, _), prompt, output in zip(good, prompts, outputs, strict=True):
        reason = _refusal(prompt, output, tokenizer)
        if reason is None:
            pairs.append((prompt, output))
        else:
            bad.append((number, reason))
    return pairs, sorted(bad)


def _parsed(line: bytes | dict[str, Any]) -> LogLine:
    try:
        parsed = (
            _DECODER.decode(line) if isinstance(line, bytes) else msgspec.convert(line, LogLine)
        )
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"must be a JSON object with prompt and output, got: {error}") from None
    for name, value in (("prompt", parsed.prompt), ("output", parsed.output)):
        if isinstance(value, str):
            require_characters(value, name)
    if not parsed.output:
        raise ValueError("output must not be empty, got none")
    return parsed


def _ids(values: list[Any], tokenizer: Any, *, special: bool) -> list[Any]:
    """Returns token ids for each value, text or ids; special: whether texts get special tokens."""
    texts = [value for value in values if isinstance(value, str)]
    if not texts or tokenizer is None:
        return values
    ids = iter(tokenizer(texts, add_special_tokens=special, verbose=False)["input_ids"])
    return [next(ids) if isinstance(value, str) else value for value in values]


def _refusal(prompt: Any, output: Any, tokenizer: Any) -> str | None:
    """Returns why the ids of a prompt or an output are invalid; None if they are valid."""
    for name, ids in (("prompt", prompt), ("output", output)):
        if isinstance(ids, str):
            return f"{name} is text, which needs --tokenizer"
        if not ids and name == "output":
            return "output must not be empty, got no token"
        low, high = min(ids, default=0), max(ids, default=0)
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
    """Returns the ids of a log's last outputs, in order, at most MOST_TOKENS tokens in total.

    Refuses a log with an invalid line. tokenizer: as in `encoded`.
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
