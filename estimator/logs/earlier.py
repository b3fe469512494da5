"""Outputs that a server wrote before, from which suffix decoding drafts for others."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from estimator.logs.encoding import encoded
from estimator.logs.parts import parts

# As many tokens are kept, however long the log is.
MOST_TOKENS = 1 << 18


def earlier_outputs(path: Path, tokenizer: Any) -> list[Sequence[int]]:
    """Returns the last outputs of a log, in its order, of at most MOST_TOKENS tokens together.

    Args:
      path: of a log as `--texts` takes it.
      tokenizer: of its text; None: it has ids.

    Raises:
      OSError: if it cannot be read.
      ValueError: at the first line that cannot be used, or if there is none.
    """
    outputs: deque[Sequence[int]] = deque()
    tokens = 0
    for part in parts(path):
        pairs, bad = encoded(part, tokenizer)
        if bad:
            raise ValueError(f"{path} line {bad[0].number}: {bad[0].reason}")
        for _, output in pairs:
            outputs.append(output[-MOST_TOKENS:])
            tokens += len(outputs[-1])
            while tokens > MOST_TOKENS:
                tokens -= len(outputs.popleft())
    if not outputs:
        raise ValueError(f"draft suffix:FILE must hold an output, got none in {path}")
    return list(outputs)
