"""The runs to make before flags are used, and flags as comments until they were made."""

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.choice.advice import Advice
from simulator.choice.odds import certainty
from simulator.choice.plan import Plan
from specplan.reports.kept import plan_waits


def first_runs(advice: Advice, *, waits: bool = False) -> list[int]:
    """Returns the draft lengths to run before flags are used; [] if none is.

    waits: whether no speculation was run, and is kept until the advised draft length was run, too.
    """
    return [advice.named, 0] if advice.undecided else [advice.named] * waits


def first_runs_of(row: Plan, rows: Sequence[Plan] = ()) -> list[int]:
    """Returns the draft lengths to run before a plan's flags are used.

    Flags for a draft length that the user names need no run. A plan between runs of other batches
    waits as they do if its gain is undecided, too.

    rows: plans of the same server at other batches.
    """
    load, chance = row.setting.load, row.advice.gain_probability
    between = load is not None and load.estimated is not None and chance is not None
    waits = plan_waits(row) or (
        between and certainty(chance or 0.0) == "undecided" and any(map(plan_waits, rows))
    )
    return first_runs(row.advice, waits=row.only is None and waits)


def cautious(flags: str, first: Mapping[Any, Sequence[int]], unit: str = "batch") -> str:
    """Returns flags: as comments that name the runs to make first, if there are any.

    first: draft lengths to run first, by batch or by another number that `unit` names.
    """
    undecided = [f"{at:g}" for at, gammas in first.items() if gammas]
    if not undecided:
        return flags
    where = f" at {unit} {', '.join(undecided)}" * (len(undecided) < len(first))
    gammas = {gamma for some in first.values() for gamma in some}
    *some, last = (f"K = {gamma}" for gamma in [*sorted(gammas - {0}), *(gammas & {0})])
    named = f"{', '.join(some)} and {last}" if some else last
    several = sum(line.startswith("# at ") for line in flags.split("\n")) > 1
    whose = " of one setting" * several
    top = f"# Undecided{where}: measure {named} first, then take the #{whose} away."
    lines = (line if line.startswith("#") else f"# {line}" for line in flags.split("\n"))
    return "\n".join([top, *lines])
