"""Tables and folded text for a terminal, and a check that printed predictions are possible."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from string import Formatter
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from simulator.cost.cost import Cost

Row = TypeVar("Row")
# A header, and a template of a row's attributes or keys, as "{speed:.2f} ms", which is a dash where
# one of them is None or missing; or a function of the row.
Column = tuple[str, str | Callable[[Row], str]]
GAMMA = "gamma (K)"
MS, TOKENS = "ms/token", "tokens/s"
WIDTH = 80
_MISSING = "\0"


class _Template(Formatter):
    def get_value(self, key: Any, _: Any, row: Any) -> Any:
        return row.get(key) if isinstance(row, Mapping) else getattr(row, key)

    def format_field(self, value: Any, form: str) -> str:
        return _MISSING if value is None else format(value, form)


def table(
    rows: Iterable[Row],
    columns: Sequence[Column[Row]],
    *,
    best: Callable[[Row], bool] | None = None,
    note: Callable[[Row], str] | None = None,
) -> str:
    """Returns a table as text: a line of headers, and a line of right-aligned cells for each row.

    Columns have two spaces between them, or one if the lines are at most WIDTH long only then.

    best: returns whether a row is marked as the best; note: returns the text after a row.
    """
    records = list(rows)
    lines_of_cells = cells(records, columns)
    widths = [max(map(len, column)) for column in zip(*lines_of_cells, strict=True)]
    right = [
        [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        for row in lines_of_cells
    ]
    for index, record in enumerate(records, start=1):
        right[index] += ["<- best"] if best is not None and best(record) else []
        right[index] += [note(record)] if note is not None and note(record) else []
    wide, narrow = (list(map(gap.join, right)) for gap in ("  ", " "))
    fits = [max(map(len, lines)) <= WIDTH for lines in (wide, narrow)]
    return "\n".join(narrow if fits == [False, True] else wide)


def cells(rows: Iterable[Row], columns: Sequence[Column[Row]]) -> list[list[str]]:
    """Returns the headers, and the cells of each row, as texts."""
    heads = [header for header, _ in columns]
    return [heads, *([_cell(record, cell) for _, cell in columns] for record in rows)]


def _cell(row: Row, cell: str | Callable[[Row], str]) -> str:
    if not isinstance(cell, str):
        return cell(row)
    text = _Template().vformat(cell, (), cast(Any, row))
    return "-" if _MISSING in text else text


def fastest(rows: Iterable[Row], speed: Callable[[Row], float]) -> Callable[[Row], bool]:
    """Returns a function that is true for the row with the largest speed-up, if that is above 1."""
    best = max(rows, key=speed, default=None)
    return lambda row: row is best and speed(row) > 1


def shown(value: float | None, form: str = ".2f", unit: str = "") -> str:
    """Returns a formatted number with its unit; a dash if the number is None."""
    return "-" if value is None else f"{value:{form}}{unit}"


def ranged(value: float | None, low: float | None, high: float | None, form: str = ".2f") -> str:
    """Returns a number and its interval, as `0.80 [0.78, 0.82]`; a dash if the number is None."""
    return "-" if value is None else f"{value:{form}} {bounds(low, high, form)}".rstrip()


def interval(row: object, name: str, form: str = ".2f") -> str:
    """Returns a row's attribute `name` with its interval, `name`_low to `name`_high, as text."""
    value, low, high = (getattr(row, f"{name}{end}") for end in ("", "_low", "_high"))
    return ranged(value, low, high, form)


def bounds(low: float | None, high: float | None, form: str = ".2f") -> str:
    """Returns an interval in brackets; empty if there is none."""
    return "" if low is None or high is None else f"[{low:{form}}, {high:{form}}]"


def folded(text: str) -> str:
    """Returns text broken between words into lines of at most WIDTH characters."""
    wrapper = textwrap.TextWrapper(
        WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    lines = text.split("\n")
    return "\n".join(line if len(line) <= WIDTH else wrapper.fill(line) for line in lines)


TOLERANCE = 1e-9
PROBABILITIES = (
    "alpha", "alpha_iid", "accepted_fraction", "break_even_alpha", "gain_probability",
)  # fmt: skip
CAPACITIES = ("most_requests_per_second", "most_requests_per_second_without")
_CALL, _GAIN = "expected_tokens", "improvement_factor"
# Beginnings of the names of times and speeds, which are above 0, and of numbers of at least 0.
TIMES = ("tpot_ms", "ttft_ms", "request_ms", "ms_per_token", "baseline_ms", "tokens_per_second")
RATES = ("batch", "rate", "most_requests_per_second", "break_even_rate")


def possible(
    predicted: Mapping[str, Any],
    *,
    bounded: bool = False,
    ends: bool = False,
    prompts_per_second: float = math.inf,
) -> dict[str, Any]:
    """Returns a copy of `predicted`; raises an ArithmeticError if a number in it is impossible.

    Probabilities lie in [0, 1], times are above 0, a block of γ drafted tokens emits 1 to γ + 1
    tokens, and no number is NaN.

    predicted: a JSON object of predictions; objects and lists in it are checked, too.
    bounded: whether each block takes at least a target step (`blocks_take_a_step`). A speed-up is
      then at most the tokens per block (Leviathan et al. 2023, Theorem 8 with c = 0).
    ends: whether the ends of intervals are checked, too. They obey the same bounds only if the
      acceptance is exact and no cost was fitted to a run.
    prompts_per_second: most prompts that the server could read in a second. It cannot finish more
      requests than that (CAPACITIES).
    """
    for part in _objects(predicted):
        if part.get("stable") is False:  # beyond what the server sustains, and printed as such
            continue
        gamma = part.get("depth", part.get("gamma"))
        for name, value in part.items():
            if isinstance(value, float | int) and not isinstance(value, bool):
                kind = name.removesuffix("_low").removesuffix("_high") if ends else name
                low, high = _bounds(kind, gamma, part if bounded else {})
                if name in CAPACITIES:
                    high = prompts_per_second
                slack, at = TOLERANCE * max(1.0, abs(value)), f" at gamma {gamma}"
                if not low - slack <= value <= high + slack:
                    raise ArithmeticError(
                        f"a prediction is impossible, please report it: {name} must lie in "
                        f"[{low:g}, {high:g}]{at * (gamma is not None)}, got {value:g}"
                    )
    return dict(predicted)


def blocks_take_a_step(cost: Cost, most_gamma: int) -> bool:
    """Returns whether verifying 1 to most_gamma tokens takes at least as long as a plain step."""
    checks = cost.checking_seconds(range(1, most_gamma + 1))
    return bool(min(checks) >= cost.baseline_seconds * (1 - TOLERANCE))


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
        value = value.values()
    if isinstance(value, Iterable) and not isinstance(value, str):
        for part in value:
            if isinstance(part, Iterable):
                yield from _objects(part)


def _bounds(name: str, gamma: Any, bounded: Mapping[str, Any]) -> tuple[float, float]:
    """Returns the smallest and largest possible value of the number called `name` at `gamma`."""
    if name in PROBABILITIES:
        return 0.0, 1.0
    if name == _CALL:
        return 1.0, math.inf if gamma is None else gamma + 1.0
    if name == _GAIN:
        return 0.0, bounded.get(_CALL, math.inf)
    if name.startswith(TIMES):
        return 2 * TOLERANCE, math.inf  # the tolerance lets no 0 pass
    return (0.0 if name.startswith(RATES) else -math.inf), math.inf
