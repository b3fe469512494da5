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
    if its interval does not contain 0.
    """
    alphas = [each for each in differences if each.number == "alpha"]
    gains = [each for each in differences if each.number.startswith(_SPEED)]
    best = [max(gains, key=lambda each: max(each.a, each.b))] if gains else []
    parts = [*((each, _accepts(each)) for each in alphas), *((each, _speed(each)) for each in best)]
    if not parts:
        return "Neither acceptance nor a speed-up is in both files."
    odds = [_odds(each) for each, _ in parts]
    alike = len(set(odds)) == 1
    texts = [text + f", {sure}" * (not alike) for (_, text), sure in zip(parts, odds, strict=True)]
    return f"B {(', ' if alike else '; it ').join(texts)}{f', {odds[0]}' * alike}."


def _accepts(each: Difference) -> str:
    how = "less" if each.difference < 0 else "more" if each.difference > 0 else "as much"
    return f"accepts {how} ({each.b:.2f} against {each.a:.2f})"


def _speed(each: Difference) -> str:
    where = each.number.removeprefix(_SPEED).removeprefix(" at").removeprefix(",").strip()
    where = where.replace("gamma ", "K = ")
    percent = round(100 * abs(each.difference) / each.a)
    slower = "slower" if each.difference < 0 else "faster"
    how = f"{percent} % {slower}" if percent else "as fast"
    return f"is {how} at {where} ({each.b:.2f} against {each.a:.2f} times without speculation)"


def _odds(each: Difference) -> str:
    if each.low is None:
        return "of one prompt: no interval"
    return "almost certain" if each.distinguishable else "not distinguishable"


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Returns the JSON object of `specplan compare`."""
    opening = verdict(comparison.differences)
    rows = [{**asdict(each), "told_apart": each.distinguishable} for each in comparison.differences]
    return {"verdict": opening, **asdict(comparison), "confidence": CONFIDENCE, "differences": rows}
