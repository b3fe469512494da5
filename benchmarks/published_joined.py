"""Scores the shipped fit on public measurements that joined the table and no fit has seen.

    python benchmarks/published_joined.py

Each row of the sources that joined in November 2026 is predicted from its models, GPU, server and
length of blocks. The step without drafts (once for each load) and the speed-up are predicted
by the roofline's prior, and by measured kernels. Half a minute; no model is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from published_kernels import by_target, quality
from published_rows import JOINED, Row, over_kernels, read_unfitted
from published_scores import Guess, grouped, guess, plain_step
from published_speculation import by_draft, table_head

from simulator.cost.fitted.prior import FILES, Base

# The source of them that stays out of every fit.
LOT = "Zzsf11"
HEAD = ("rows", "mean", "median", "bias", "in 90 % (bootstrap)", "90 % is ±", "score")


def by_class(row: Row) -> str:
    """Returns the kind of target and draft."""
    return f"{by_target(row)}: {by_draft(row)}"


def steps(rows: Sequence[Row], effects: dict[str, Any]) -> list[Guess]:
    """Returns the predicted steps without drafts, one for each server and load."""
    names = ("source", "target", "gpu", "tp", "format", "batch", "without_ms")
    once = {tuple(row.facts[name] for name in names): row for row in rows}
    return [plain_step(row, effects) for row in once.values()]


def main() -> None:
    rows = read_unfitted((*JOINED, LOT))
    models: dict[Base, list[Row]] = {"roofline": rows, "kernels": over_kernels(rows)}
    print(f"{len(rows)} rows of {len({row.owner for row in rows})} sources.\n")
    for title in ("step without drafts", "speed-up"):
        print(table_head((title, *HEAD)))
        for name, covered in models.items():
            effects = json.loads(FILES[name].read_text(encoding="utf-8"))
            gains = [guess(row, [], effects) for row in covered]
            guesses = gains if title == "speed-up" else steps(covered, effects)
            print(quality(f"{name}: all", guesses))
            for kind, some in grouped(guesses, by_class):
                print(quality(f"{name}: {kind}", some))
        print()


if __name__ == "__main__":
    main()
