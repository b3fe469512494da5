"""From the lines of a log to ids, and the lines that give none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from estimator.logs.parts import Bad, Line, Part, read

Pair = tuple[Sequence[int], Sequence[int]]


def encoded(part: Part, tokenizer: Any) -> tuple[list[Pair], list[Bad]]:
    """Returns the ids of the prompts and outputs of a part, and its bad lines, in their order.

    Args:
      part: of a log.
      tokenizer: of its text; None: it has ids, which are not checked against any.
    """
    good: list[tuple[int, Line]] = []
    bad: list[Bad] = []
    for number, line in read(part):
        if isinstance(line, Bad):
            bad.append(line)
        else:
            good.append((number, line))
    pairs: list[Pair] = []
    for (number, _), pair in zip(good, _ids([line for _, line in good], tokenizer), strict=True):
        reason = _refusal(pair, tokenizer)
        if reason is None:
            pairs.append(pair)
        else:
            bad.append(Bad(number, reason))
    return pairs, sorted(bad, key=lambda each: each.number)


def _ids(lines: Sequence[Line], tokenizer: Any) -> list[tuple[Any, Any]]:
    """Returns the ids of prompts and outputs; text where nothing encodes it."""
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
