"""The verdict of `specplan compare` in words: acceptance, and speed at the best draft length."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from estimator.comparison import Comparison, Difference
from simulator.numerics.intervals import CONFIDENCE

_SPEED = "speed-up"


def verdict(differences: Sequence[Difference]) -> str:
    """Returns what B does better or worse than A, and how sure that is.

    Speeds are compared at the setting where either side gains most. A difference is almost certain
    if its interval does not contain 0, and not shown by the prompts if it does.
    """
    alphas = [row for row in differences if row.number == "alpha"]
    gains = [row for row in differences if row.number.startswith(_SPEED)]
    best = [max(gains, key=lambda row: max(row.a, row.b))] if gains else []
    parts = [*((row, _accepts(row)) for row in alphas), *((row, _speed(row)) for row in best)]
    if not parts:
        return "Neither acceptance nor a speed-up is in both files."
    decided = [(row, text) for row, text in parts if not _undecided(row)]
    said: list[str] = []
    if decided:
        said = [f"B {', '.join(text for _, text in decided)}, {_odds(decided[0][0])}."]
    unknown = ", or whether it ".join(text for row, text in parts if _undecided(row))
    if unknown:
        name = "it" if decided else "B"
        said.append(f"These prompts do not show whether {name} {unknown}.")
    return " ".join(said)


def _accepts(row: Difference) -> str:
    how = "less" if row.difference < 0 else "more" if row.difference > 0 else "as much"
    if _undecided(row):
        how = "more or less"
    return f"accepts {how} ({row.b:.2f} against {row.a:.2f})"


def _speed(row: Difference) -> str:
    where = row.number.removeprefix(_SPEED).removeprefix(" at").removeprefix(",").strip()
    where = where.replace("gamma ", "K = ")
    percent = round(100 * abs(row.difference) / row.a)
    slower = "slower" if row.difference < 0 else "faster"
    how = f"{percent} % {slower}" if percent else "as fast"
    if _undecided(row):
        how = "faster or slower"
    return f"is {how} at {where} ({row.b:.2f} against {row.a:.2f} times without speculation)"


def _undecided(row: Difference) -> bool:
    return row.low is not None and not row.distinguishable


def _odds(row: Difference) -> str:
    return "of one prompt: no interval" if row.low is None else "almost certain"


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Returns the JSON object of `specplan compare`."""
    opening = verdict(comparison.differences)
    rows = [{**asdict(row), "told_apart": row.distinguishable} for row in comparison.differences]
    return {"verdict": opening, **asdict(comparison), "confidence": CONFIDENCE, "differences": rows}
