"""How often predicted intervals of public measurements hold the measured value, by class.

A measured value's rank is the predicted probability of a smaller one. Where predictions are
calibrated, ranks are uniform, and an interval of any share holds that share (Gneiting, Balabdaoui
and Raftery 2007). Ranks near the middle mean intervals that are too wide; near both ends, too
narrow; near one end, a bias.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from published_rows import Row
from published_scores import Guess, Score, by_source, grouped
from published_speculation import table_head, table_row

# Shares of the intervals in a table, and parts into which ranks are counted.
SHARES, PARTS = (0.5, 0.8, 0.9, 0.95), 10


def held(guesses: Sequence[Guess], share: float) -> float:
    """Returns the share of guesses whose central interval of a share holds the measured value."""
    ranks = np.array([guess.rank for guess in guesses])
    return float(np.mean(np.abs(ranks - 0.5) <= share / 2))


def ranks_by_part(guesses: Sequence[Guess]) -> list[int]:
    """Returns the number of ranks in each of PARTS equal parts of [0, 1], from the smallest."""
    counts, _ = np.histogram([guess.rank for guess in guesses], PARTS, (0.0, 1.0))
    return [int(count) for count in counts]


def row_of(name: str, guesses: Sequence[Guess]) -> str:
    """Returns a row of the table of calibration."""
    score, (low, high) = Score.of(guesses), by_source(guesses)[0]
    cells = [name, str(score.rows), str(len({guess.row.owner for guess in guesses}))]
    for share in SHARES:
        around = f" ({low:.0%} to {high:.0%})" if share == 0.9 else ""
        cells.append(f"{held(guesses, share):.0%}{around}")
    parts = " ".join(f"{count / score.rows:.0%}".rstrip("%") for count in ranks_by_part(guesses))
    return table_row([*cells, f"{score.width:.0%}", f"{score.interval:.2f}", parts])


def calibration(
    title: str, guesses: Sequence[Guess], classes: Mapping[str, Callable[[Row], str]]
) -> list[str]:
    """Returns a table of calibration: all guesses first, then every class of their rows.

    In brackets: 90 % interval of the share in the 90 % interval, by a bootstrap over sources.
    classes: maps a row to its class, by the name of the classification.
    """
    shares = (f"in {share:.0%}" for share in SHARES)
    head = (title, "rows", "sources", *shares, "90 % is ±", "score", "% of ranks by tenth")
    lines = [table_head(head), row_of("all", guesses)]
    for name, of_row in classes.items():
        lines += [row_of(f"{name}{kind}", some) for kind, some in grouped(guesses, of_row)]
    return [*lines, ""]
