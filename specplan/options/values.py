"""Values of options: numbers as users type them (`49.7%`, `0.1:0.9:0.1`), and names."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

import click

from specplan.options.help import SHOWS_ALL

if TYPE_CHECKING:
    from engines.kind import EngineKind

MOST_VALUES = 10_000

Typed = TypeVar("Typed")
Value = TypeVar("Value")
Callback = Callable[[click.Context | None, click.Parameter | None, Typed], Value]

# Other names of number formats.
_SHORT_FORMATS = {"bf16": "bfloat16", "fp16": "float16"}


def callback(parse: Callable[[Typed], Value]) -> Callback[Typed, Value]:
    """Returns a click callback that parses an option's value; it prints the parser's errors."""

    def parsed(_ctx: click.Context | None, _param: click.Parameter | None, value: Typed) -> Value:
        try:
            return parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error).replace("`", "")) from None

    return parsed


def parse_numbers(text: str) -> tuple[float, ...]:
    """Returns the numbers of a list or range, in the order written.

    Ranges are counted in decimal: 0.1:0.9:0.1 has exactly nine values, and the third is 0.3, not
    0.30000000000000004. Refuses empty and endless ranges.
    """
    values: list[float] = []
    for part in _parts(text):
        if re.fullmatch(r"0\d+", part):
            raise ValueError(f"{part!r} is not a number: a decimal has a point, as 0.8 has")
        values.extend(_range(part) if ":" in part else (float(_decimal(part)),))
        if len(values) > MOST_VALUES:
            raise ValueError(f"{text!r} has more than {MOST_VALUES} values")
    return tuple(values)


numbers = callback(parse_numbers)


def _parts(text: str) -> list[str]:
    """Returns the texts between the commas of a list, which may have JSON's brackets."""
    bare = text.strip()
    bare = bare[1:-1] if bare.startswith("[") and bare.endswith("]") else bare
    return [part.strip() for part in bare.split(",")]


def parse_counted_share(text: str) -> tuple[float, float | None]:
    """Returns a share and, for a ratio of two counts, its denominator."""
    _, slash, whole = text.partition("/")
    return share_of(float(_decimal(text))), float(whole) if slash else None


counted_share = callback(parse_counted_share)


@callback
def shares(text: str) -> tuple[float, ...]:
    """Returns the numbers of a list or range of probabilities or rates."""
    comma = re.fullmatch(r"\s*0,(\d+)\s*", text)
    if comma is not None and int(comma[1]) > 1:
        raise ValueError(f"must lie in [0, 1], got {text.strip()}: write 0.{comma[1]}")
    return tuple(map(share_of, parse_numbers(text)))


def share_of(value: float) -> float:
    """Returns a share unchanged; refuses what lies outside [0, 1]."""
    if not 0 <= value <= 1:
        hint = f": for per cent write {value:g}%" if 2 <= value <= 100 else ""
        raise ValueError(f"must lie in [0, 1], got {value:g}{hint}")
    return value


@callback
def integers(text: str) -> tuple[int, ...]:
    for part in _parts(text):
        if not part.removeprefix("-").isdecimal():
            raise ValueError(f"{part!r} is not an integer")
    return tuple(map(int, _parts(text)))


@callback
def integer_ranges(text: str) -> tuple[int, ...]:
    """Returns the integers of a list of integers and ranges, such as 1,4 or 1:256:1."""
    numbers_given = parse_numbers(text)
    for number in numbers_given:
        if not number.is_integer():
            raise ValueError(f"{number:g} is not an integer")
    return tuple(map(int, numbers_given))


@callback
def contexts(text: str) -> tuple[int, ...]:
    """Returns numbers of tokens: 4096, 64k (k: 1024), ranges, and start:stop, which doubles."""
    tokens = re.sub(
        r"(\d+(?:\.\d+)?)k\b", lambda number: f"{1024 * float(number[1]):g}", text, flags=re.I
    )
    values: list[float] = []
    for part in _parts(tokens):
        if part.count(":") != 1:
            values += parse_numbers(part)
            continue
        first, last = (float(_decimal(end)) for end in part.split(":"))
        if not 1 <= first <= last:
            raise ValueError(f"a range must start at 1 or more and not end before, got {part!r}")
        while first < last:
            values.append(first)
            first *= 2
        values.append(last)
    for number in values:
        if not (number.is_integer() and number >= 1):
            raise ValueError(f"must be an integer of at least 1, got {number:g}")
    return tuple(map(int, values))


@callback
def duration(value: float) -> float:
    """Returns a number unchanged; refuses infinite numbers and numbers below 0."""
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"must be finite and at least 0, got {value:g}")
    return value


def _range(text: str) -> list[float]:
    if text.count(":") != 2:
        raise ValueError(f"a range is start:stop:step, got {text!r}")
    ends = start, stop, step = [_decimal(end) for end in text.split(":")]
    if not all(end.is_finite() for end in ends):
        raise ValueError(f"a range needs finite numbers, got {text!r}")
    if step <= 0:
        raise ValueError(f"the step of a range must be above 0, got {text!r}")
    if stop < start:
        raise ValueError(f"a range must not end before it starts, got {text!r}")
    if stop - start >= step * MOST_VALUES:
        raise ValueError(f"{text!r} has more than {MOST_VALUES} values")
    return [float(start + i * step) for i in range(int((stop - start) / step) + 1)]


def _decimal(text: str) -> Decimal:
    """Returns the number written as a decimal, a percentage or a ratio of two counts."""
    try:
        whole, slash, parts = text.strip().partition("/")
        if slash:
            return Decimal(whole) / Decimal(parts)
        return Decimal(whole.removesuffix("%")) / (100 if whole.endswith("%") else 1)
    except (InvalidOperation, ZeroDivisionError):
        raise ValueError(f"{text.strip()!r} is not a number") from None


class EngineName(click.Choice[str]):
    """An option's type: a name of an engine for which `has` is true. Imports engines when used."""

    def __init__(self, has: Callable[[EngineKind], object] = bool) -> None:
        self._has, self.case_sensitive = has, False

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        from engines.kind import names_of

        return names_of(self._has)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        """Returns all names for --help-all, where there is room for them; else one word."""
        return super().get_metavar(param, ctx) if ctx.meta.get(SHOWS_ALL) else "NAME"


class FormatName(click.Choice[str]):
    """An option's type: a number format; bf16 and fp16 are bfloat16 and float16."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if re.match(r"i?q\d", value.lower()) and value.lower() not in self.choices:
            self.fail(
                f"{value!r} is a mix of formats: give the .gguf file itself as --target-config or "
                "--draft-config, with its own formats, or take q8_0 or q4_0",
                param,
                ctx,
            )
        return super().convert(_SHORT_FORMATS.get(value, value), param, ctx)


def listing(names: Callable[[], Iterable[str]]) -> Callable[..., Any]:
    """Returns an option's callback that prints all names and exits if the value is `list`."""

    def listed(ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
        if value in ("list", ("list",)) and not ctx.resilient_parsing:
            click.echo("\n".join(names()))
            ctx.exit()
        return value

    return listed


def near(name: str, names: Iterable[str]) -> str:
    """Returns " (did you mean …?)" with the name most similar to a mistyped one; "" if none is."""
    close = get_close_matches(name, names, 1)
    return f" (did you mean {close[0]}?)" if close else ""


# A step or a token of a language model that takes less was probably meant in seconds.
LEAST_MS = 0.05


def in_milliseconds(value: float) -> float:
    """Returns a time in milliseconds unchanged; refuses one that looks like seconds."""
    if 0 < value < LEAST_MS:
        raise ValueError(
            f"{value:g} ms would be {1e3 / value:,.0f} tokens/s: if the time is in seconds, write "
            f"{1e3 * value:g}"
        )
    return value
