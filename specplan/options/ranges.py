"""Numbers as a user types them: `0.8`, `49.7%`, `171/297`, `0.7,0.8`, `0.1:0.9:0.1`."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation

import click

MOST_VALUES = 10_000


def numbers(
    _ctx: click.Context, _param: click.Parameter, value: str | None
) -> tuple[float, ...] | None:
    """Returns what parse_numbers makes of an option; the callback of options that take a list.

    Raises:
      click.BadParameter: as parse_numbers.
    """
    if value is None:
        return None
    try:
        return parse_numbers(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def number(_ctx: click.Context, _param: click.Parameter, value: str | None) -> float | None:
    """Returns the one number of an option; its callback.

    Raises:
      click.BadParameter: if it is none.
    """
    if value is None:
        return None
    try:
        return float(_decimal(value))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def shares(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[float, ...] | None:
    """Returns the numbers of an option, each a probability or rate; its callback.

    Raises:
      click.BadParameter: as numbers, or if one lies outside [0, 1].
    """
    found = numbers(ctx, param, value)
    for each in found or ():
        _require_share(each)
    return found


def share(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Returns the one probability or rate of an option; its callback.

    Raises:
      click.BadParameter: as number, or if it lies outside [0, 1].
    """
    found = number(ctx, param, value)
    if found is not None:
        _require_share(found)
    return found


def duration(
    _ctx: click.Context, _param: click.Parameter, value: float | None
) -> float | None:
    """Returns the value of an option that is a time; its callback.

    Raises:
      click.BadParameter: if it is negative, infinite or not a number.
    """
    if value is not None and not (math.isfinite(value) and value >= 0):
        raise click.BadParameter(f"must be finite and at least 0, got {value:g}")
    return value


def integers(
    _ctx: click.Context, _param: click.Parameter, value: str | None
) -> tuple[int, ...] | None:
    """Returns the integers of a comma-separated option, in the order written; its callback.

    Raises:
      click.BadParameter: if a part is not an integer.
    """
    if value is None:
        return None
    parts = value.split(",")
    for part in parts:
        if not part.strip().removeprefix("-").isdecimal():
            raise click.BadParameter(f"{part.strip()!r} is not an integer")
    return tuple(int(part) for part in parts)


def integer_ranges(
    _ctx: click.Context, _param: click.Parameter, value: str | None
) -> tuple[int, ...] | None:
    """Returns the integers of a list or range such as 1:256:1, in the order written; its callback.

    Raises:
      click.BadParameter: as parse_numbers, or if a value is not an integer.
    """
    found = numbers(_ctx, _param, value)
    if found is None:
        return None
    for each in found:
        if not each.is_integer():
            raise click.BadParameter(f"{each:g} is not an integer")
    return tuple(int(each) for each in found)


def parse_numbers(text: str) -> tuple[float, ...]:
    """Returns the numbers that a list or range stands for, in the order written.

    Ranges are counted in decimal, so that 0.1:0.9:0.1 has exactly nine values and each is the float
    nearest to its decimal form (0.3, not 0.30000000000000004).

    Raises:
      ValueError: if a part is no number, or a range is empty, endless or too long.
    """
    values: list[float] = []
    for part in text.split(","):
        values.extend(_range(part) if ":" in part else (float(_decimal(part)),))
        if len(values) > MOST_VALUES:
            raise ValueError(f"{text!r} has more than {MOST_VALUES} values")
    return tuple(values)


def _require_share(value: float) -> None:
    if not 0 <= value <= 1:
        hint = f": for per cent write {value:g}%" if 2 <= value <= 100 else ""
        raise click.BadParameter(f"must lie in [0, 1], got {value:g}{hint}")


def _range(text: str) -> list[float]:
    ends = text.split(":")
    if len(ends) != 3:
        raise ValueError(f"a range is start:stop:step, got {text.strip()!r}")
    start, stop, step = (_decimal(end) for end in ends)
    if not all(end.is_finite() for end in (start, stop, step)):
        raise ValueError(f"a range needs finite numbers, got {text.strip()!r}")
    if step <= 0:
        raise ValueError(f"the step of a range must be above 0, got {text.strip()!r}")
    if stop < start:
        raise ValueError(f"a range must not end before it starts, got {text.strip()!r}")
    if stop - start >= step * MOST_VALUES:
        raise ValueError(f"{text.strip()!r} has more than {MOST_VALUES} values")
    return [float(start + i * step) for i in range(int((stop - start) / step) + 1)]


def _decimal(text: str) -> Decimal:
    """Returns the number that a decimal, a percentage or a ratio of two counts stands for."""
    try:
        whole, slash, parts = text.strip().partition("/")
        if slash:
            return Decimal(whole) / Decimal(parts)
        return Decimal(whole.removesuffix("%")) / (100 if whole.endswith("%") else 1)
    except (InvalidOperation, ZeroDivisionError):
        raise ValueError(f"{text.strip()!r} is not a number") from None
