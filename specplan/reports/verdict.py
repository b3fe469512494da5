"""The verdict of `specplan compare` in words: acceptance, and speed at the best draft length."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from estimator.comparison import POWER, Comparison, Difference
from simulator.choice.odds import certainty, percentage
from simulator.numerics.intervals import CONFIDENCE

_SPEED = "speed-up"
_PROMPTS = re.compile(r" --num-prompts[ =]\d+")
_MOST_PROMPTS = 10_000  # a larger number is not stated


def verdict(differences: Sequence[Difference], prompts: int, a: str = "A", b: str = "B") -> str:
    """Returns which side to take, how sure that is, and how many prompts would decide the rest.

    Speeds decide. They are compared with each side at its own best draft length, or at the setting
    where either side gains most. A difference is almost certain if its interval does not contain 0,
    and not decided by the prompts if it does: then the likelier side is taken for now. a, b: names
    of the sides.
    """
    alphas = [row for row in differences if row.number == "alpha"]
    best = speeds(differences)
    if not alphas and not best:
        return "Neither acceptance nor a speed-up is in both files."
    said = [text for row in best for text in _speed(row, prompts, a, b)]
    said += [_accepts(row, prompts, b) for row in alphas]
    return " ".join([*said, *_deciding([*alphas, *best], prompts)])


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
            some = f"about {float(f'{needed:.2g}'):.0f}"
            some = some if needed <= _MOST_PROMPTS else f"over {_MOST_PROMPTS:,}"
            would = "" if counts else " prompts would decide"
            counts.append(f"{some}{would} {'acceptance' if row.number == 'alpha' else 'speed'}")
    said = ", ".join(counts)
    shown = f"in {100 * POWER:.0f} % of comparisons"
    return [f"{said[0].upper()}{said[1:]}, {shown}; these files have {prompts}."] if counts else []


def _accepts(row: Difference, prompts: int, b: str) -> str:
    numbers = f"({row.b:.2f} against {row.a:.2f})"
    how = "less" if row.difference < 0 else "more" if row.difference > 0 else "as much"
    if _undecided(row):
        chance = percentage(_chance(row, prompts))
        return f"{b} accepts {how} {numbers} with a probability of {chance}; 95 % would decide."
    return f"{b} accepts {how} {numbers}, {_odds(row, prompts)}."


def _speed(row: Difference, prompts: int, a: str, b: str) -> list[str]:
    """Returns which side to take by a difference of speed-ups, and the speed-ups."""
    where = row.number.removeprefix(_SPEED).removeprefix(" at").removeprefix(",").strip()
    where = where.replace("gamma ", "K = ")
    if " and " in where:
        first, other = where.removeprefix("K = ").split(" and ")
        where = f"its own best K, {other} against {first}"
    numbers = f"{row.b:.2f} against {row.a:.2f} times without speculation"
    if _undecided(row):
        ks = re.findall(r"gamma (\d+) and (\d+)$", row.number)
        one, two = [f" with K = {k}" for k in ks[0]] if ks else [f" at {where}"] * 2
        sides = [(f"{a}{one}", row.a), (f"{b}{two}", row.b)]
        likelier, second = sides if row.difference < 0 else sides[::-1]
        return [open_text(likelier, second, chance=_chance(row, prompts), prompts=prompts)]
    percent = round(100 * abs(row.difference) / row.a)
    slower = "slower" if row.difference < 0 else "faster"
    how = f"{percent} % {slower}" if percent else "as fast"
    taken = "" if row.low is None else f"Take {a if row.difference < 0 else b}: "
    return [f"{taken}{b} is {how} at {where} ({numbers}), {_odds(row, prompts)}."]


def _undecided(row: Difference) -> bool:
    return row.low is not None and not row.distinguishable


def open_text(
    chosen: tuple[str, float], other: tuple[str, float], *, chance: float, prompts: int
) -> str:
    """Returns which of two sides to take while prompts do not decide which is faster.

    chosen, other: name and speed-up of the side that is likelier to be the faster one, and of the
      other. chance: probability that the chosen side is the faster one.
    """
    return (
        f"Take {chosen[0]} ({chosen[1]:.2f} times the speed without speculation) for now: it is "
        f"faster than {other[0]} ({other[1]:.2f} times) with a probability of "
        f"{percentage(chance)}, and {prompts} prompts do not decide it."
    )


def _chance(row: Difference, prompts: int) -> float:
    """Returns the probability that a difference of several prompts has the sign that it shows."""
    higher = row.higher_probability(prompts)
    assert higher is not None
    return higher if row.difference >= 0 else 1 - higher


def _odds(row: Difference, prompts: int) -> str:
    if row.low is None:
        return "of one prompt: no interval"
    return f"almost certain ({percentage(_chance(row, prompts))})"


def verdict_of(comparison: Comparison) -> str:
    """Returns the verdict, how sure each side gains at all, and the measurement to make next."""
    said = [verdict(comparison.differences, comparison.a.prompts)]
    sides = {"A": comparison.a, "B": comparison.b}
    gains = [
        f"{name} with K = {side.gamma} ({certainty(chance)}, {percentage(chance)})"
        for name, side in sides.items()
        if side.gamma and (chance := side.gain_probability) is not None
    ]
    said += [f"Faster than no speculation: {', '.join(gains)}."] * bool(gains)
    if more := _more_prompts(comparison):
        said.append(f"Next: measure both over {more} prompts (--num-prompts {more}), and compare.")
        said += [
            f"K = {side.gamma} is the longest that was timed of {name}: its command goes to "
            f"{2 * side.gamma}."
            for name, side in sides.items()
            if side.gamma and f"--max-gamma {side.gamma} " in f"{side.command or ''} "
        ]
    return " ".join(said)


def _more_prompts(comparison: Comparison) -> str | None:
    """Returns how many prompts would show which is faster; None: decided, or too many."""
    rows = speeds(comparison.differences)
    most = rows[0].prompts_needed(comparison.a.prompts) if rows else None
    return None if most is None or most > _MOST_PROMPTS else f"{float(f'{most:.2g}'):.0f}"


def next_commands(comparison: Comparison) -> list[str]:
    """Returns the commands that decide which side is faster; [] if that is decided or not known."""
    more = _more_prompts(comparison)
    sides, commands = {"a.json": comparison.a, "b.json": comparison.b}, list[str]()
    for file, side in sides.items():
        if more is None or side.command is None:
            return []
        # The longest draft that was timed may not be the fastest.
        longer = f"{side.command} ".replace(
            f"--max-gamma {side.gamma} ", f"--max-gamma {2 * (side.gamma or 0)} "
        )
        commands.append(f"{_PROMPTS.sub('', longer).rstrip()} --num-prompts {more} -o {file}")
    return [*commands, f"specplan compare {' '.join(sides)}"]


def deciding(commands: Sequence[str]) -> dict[str, str]:  # an entry among flags
    return {"the measurement that decides": "\n".join(commands)} if commands else {}


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Returns the JSON object of `specplan compare`."""
    prompts = comparison.a.prompts
    rows = [
        {
            **asdict(row),
            "told_apart": row.distinguishable,
            "higher_probability": row.higher_probability(prompts),
            "prompts_needed": row.prompts_needed(prompts),
        }
        for row in comparison.differences
    ]
    opening = {"verdict": verdict_of(comparison), "next_commands": next_commands(comparison)}
    return {**opening, **asdict(comparison), "confidence": CONFIDENCE, "differences": rows}
