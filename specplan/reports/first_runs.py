"""The runs to make before flags are used, and flags as comments until they were made."""

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.choice.plan import Plan

_NONE = "K = 0 (no speculation)"


def first_runs(row: Plan, rows: Sequence[Plan] = ()) -> list[int]:
    """Returns the draft lengths to run before a plan's flags are used; [] if none is.

    Flags for a draft length that the user names need no run, unless a gain is undecided. A plan
    between runs of other batches waits as they do, unless its draft length gained in them.

    rows: plans of the same server at other batches.
    """
    load, advice, fastest = row.setting.load, row.advice, row.fastest_run
    if advice.undecided:
        return [advice.named] + [0] * (fastest is None)
    between = load is not None and load.estimated is not None
    waits = _waits(row) or (
        between and advice.gamma > 0 and not advice.measured and any(map(_waits, rows))
    )
    return [advice.named] * (row.only is None and waits)


def _waits(row: Plan) -> bool:
    """Returns whether no speculation was run, and is the fastest run."""
    return row.fastest_run is not None and row.fastest_run.gamma == 0


def cautious(flags: str, first: Mapping[Any, Sequence[int]], unit: str = "batch") -> str:
    """Returns flags: as comments that name the runs to make first, if there are any.

    first: draft lengths to run first, by batch or by another number that `unit` names.
    """
    undecided = [f"{at:g}" for at, gammas in first.items() if gammas]
    if not undecided:
        return flags
    where = f" at {unit} {', '.join(undecided)}" * (len(undecided) < len(first))
    gammas = {gamma for some in first.values() for gamma in some}
    *some, last = [f"K = {gamma}" for gamma in sorted(gammas - {0})] + [_NONE] * (0 in gammas)
    named = f"{', '.join(some)} and {last}" if some else last
    whose = " of one setting" * (sum(line.startswith("# at ") for line in flags.split("\n")) > 1)
    word = "Undecided" if 0 in gammas else "Not run yet"
    return f"{first_line(f'{word}{where}', named, whose)}\n{commented(flags)}"


def first_line(why: str, runs: str, whose: str = "") -> str:
    """Returns the comment above flags that wait for runs; whose: " of one setting" or ""."""
    return (
        f"# {why}: run {runs} first and plan again; take the #{whose} away for a run with drafts, "
        "and for good if it is still advised."
    )


def commented(flags: str) -> str:
    """Returns flags as comments."""
    return "\n".join(line if line.startswith("#") else f"# {line}" for line in flags.split("\n"))
