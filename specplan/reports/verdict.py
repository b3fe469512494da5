"""The verdict of `specplan compare` in words: acceptance, and speed at the best draft length."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from estimator.comparison import POWER, Comparison, Difference
from simulator.numerics.intervals import CONFIDENCE

_SPEED = "speed-up"
_MOST_PROMPTS = 10_000  # a larger number is not stated


def verdict(differences: Sequence[Difference], prompts: int) -> str:
    """Returns what B does better or worse than A, how sure that is, and what would decide it.

    Speeds are compared with each side at its own best draft length, or at the setting where either
    side gains most. A difference is almost certain
    if its interval does not contain 0, and not shown by the prompts if it does.
    """
    alphas = [row for row in differences if row.number == "alpha"]
    best = speeds(differences)
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
        said += _deciding([row for row, _ in parts], prompts)
    return " ".join(said)


def speeds(differences: Sequence[Difference]) -> list[Difference]:
    """Returns the speed-ups at each side's own best K, else where either gains most."""
    gains = [row for row in differences if row.number.startswith(_SPEED)]
    return [max(gains, key=lambda row: (" and " in row.number, max(row.a, row.b)))] if gains else []


def _deciding(rows: Sequence[Difference], prompts: int) -> list[str]:
    """Returns a sentence with the prompts that would decide the open differences; [] if none can.

    prompts: number of prompts of the comparison.
    """
    counts = list[str]()
    for row in rows:
        if (needed := row.prompts_needed(prompts)) is not None:
            some = f"some {float(f'{needed:.2g}'):.0f}"
            some = some if needed <= _MOST_PROMPTS else f"over {_MOST_PROMPTS:,}"
            counts.append(f"{'acceptance' if row.number == 'alpha' else 'speed'} {some}")
    if not counts:
        return []
    opening = f"Prompts that would show differences of these sizes in {100 * POWER:.0f} %"
    return [
        f"{opening} of comparisons: {', '.join(counts)} ({prompts} here). Until then take either."
    ]


def _accepts(row: Difference) -> str:
    how = "less" if row.difference < 0 else "more" if row.difference > 0 else "as much"
    if _undecided(row):
        how = "more or less"
    return f"accepts {how} ({row.b:.2f} against {row.a:.2f})"


def _speed(row: Difference) -> str:
    where = row.number.removeprefix(_SPEED).removeprefix(" at").removeprefix(",").strip()
    where = where.replace("gamma ", "K = ")
    if " and " in where:
        a, b = where.removeprefix("K = ").split(" and ")
        where = f"its own best K, {b} against {a}"
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
    prompts = comparison.a.prompts
    opening = verdict(comparison.differences, prompts)
    rows = [
        {
            **asdict(row),
            "told_apart": row.distinguishable,
            "prompts_needed": row.prompts_needed(prompts),
        }
        for row in comparison.differences
    ]
    return {"verdict": opening, **asdict(comparison), "confidence": CONFIDENCE, "differences": rows}
