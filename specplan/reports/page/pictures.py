"""The contents of a page as data: charts that its script draws, tables, and sections of both."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from specplan.reports import table
from specplan.reports.page.words import words_in

# The draft length as JSON names it, but no option: with a number, and without.
_AT_GAMMA = re.compile(r"(?<![-\w])(?:gamma|γ)(?: =)? (\d[\w,]*)")
_GAMMA = re.compile(r"(?<![-\w])(?:gamma \(K\)|γ \(K\)|K \(gamma\)|gamma(?![-=\w])|γ(?!\w))")
Mark = Literal["line", "dashed", "dots", "rings", "bars"]


@dataclass(frozen=True, slots=True)
class ChartPoint:
    """One value with its interval; low and high are None if there is none.

    note: the thing that has this value, where x does not say it.
    """

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one colour, joined by a line, shown as single dots or rings, or as bars.

    colour: index from 0; all series of one draft have one colour. Later rings are larger, so that
      all rings at one place are seen.
    """

    name: str
    colour: int
    mark: Mark
    points: tuple[ChartPoint, ...]


@dataclass(frozen=True, slots=True)
class Threshold:
    """A horizontal line at y with a label, such as a latency target."""

    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Span:
    """A coloured range of x with a label, such as the batches of one draft length.

    colour: index of the colour; None: grey, for what cannot be used.
    """

    first: float
    last: float
    label: str
    colour: int | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with its title and a sentence on how to read it.

    marks: labelled points (label, x, y), such as the advised draft length.
    categories: names of x = 0, 1, …; empty if x is a number.
    logarithmic: whether the horizontal axis is logarithmic.
    """

    key: str
    title: str
    reading: str
    x: str
    y: str
    series: Sequence[Series]
    levels: Sequence[Threshold] = ()
    spans: Sequence[Span] = ()
    marks: Sequence[tuple[str, float, float]] = ()
    categories: Sequence[str] = ()
    logarithmic: bool = False

    @property
    def explained(self) -> str:
        """How to read the chart. It names levels whose labels bars or dots would hide."""
        named = [level.label for level in self.levels if self.categories and level.label]
        return " ".join([self.reading, *(f"Horizontal line: {label}." for label in named)])

    def name(self, x: float) -> str:
        """Returns the text of a value on the horizontal axis."""
        return self.categories[int(x)] if self.categories else f"{x:.4g}" if x < 1e4 else f"{x:.0f}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts.

    marked: index of the row that is advised; None: no row is.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    marked: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The answer of one command, or of all profiles together.

    about: model, machine and file.
    headline: the advice.
    basis: the evidence behind the numbers: runs with device and date, kernels, roofline.
    sure: sentences on how reliable the advice is.
    charts: the main picture first.
    flags: the flags that set the advice, by server.
    export: how to get flags, if there are none; "": not said.
    inputs: names and values of the inputs of the answer.
    command: the command that repeats the answer; None: not recorded.
    notes: fine print: facts about the answer. Meanings of columns are in `words`.
    explorer: grid of the sliders (`explorer.grid_json`); None: no sliders.
    """

    kind: str
    about: str
    headline: str
    sure: Sequence[str] = ()
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    flags: Mapping[str, str] = field(default_factory=dict)
    export: str = ""
    inputs: Sequence[tuple[str, str]] = ()
    command: str | None = None
    notes: Sequence[str] = ()
    explorer: Mapping[str, Any] | None = None
    basis: str = ""

    @property
    def title(self) -> str:
        return ": ".join(filter(None, [self.kind, self.about]))

    @property
    def words(self) -> list[tuple[str, str]]:
        """The words that need a meaning and are shown, each with its meaning."""
        return words_in(self)


def in_words(section: Section) -> Section:
    """Returns a section whose sentences and tables say K, also where JSON and flags say gamma.

    Flags, inputs and the command name paths in the current folder relative to it.
    """
    here = f"{Path.cwd()}/"

    def said(text: str) -> str:
        text = _AT_GAMMA.sub(r"K = \1", text)
        return _GAMMA.sub("K", text)

    tables = [
        replace(table, caption=said(table.caption), columns=list(map(said, table.columns)),
                rows=[list(map(said, row)) for row in table.rows])
        for table in section.tables
    ]  # fmt: skip
    charts = [
        replace(chart, title=said(chart.title), reading=said(chart.reading), x=said(chart.x))
        for chart in section.charts
    ]
    sure, notes = list(map(said, section.sure)), list(map(said, section.notes))
    return replace(
        section,
        headline=said(section.headline),
        sure=sure,
        notes=notes,
        tables=tables,
        charts=charts,
        flags={server: flags.replace(here, "") for server, flags in section.flags.items()},
        inputs=[(name, value.replace(here, "")) for name, value in section.inputs],
        command=section.command and section.command.replace(here, ""),
    )


def series(
    name: str, colour: int, points: Iterable[tuple[Any, ...]], mark: Mark = "line"
) -> list[Series]:
    """Returns the series of points (x, y) or (x, y, low, high); [] without points.

    Points without y are left out. A point may have a note after its interval.
    """
    shown = tuple(ChartPoint(*point) for point in points if point[1] is not None)
    return [Series(name, colour, mark, shown)] if shown else []


def number(value: float | None, digits: int = 2) -> str:
    """Returns a number with so many decimals; a dash for None."""
    return table.shown(value, f",.{digits}f")


def ranged(row: Mapping[str, Any], name: str, form: str = ",.2f") -> str:
    """Returns `name` of a JSON object with `name_low` and `name_high`, if they are there."""
    value, low, high = (row.get(f"{name}{end}") for end in ("", "_low", "_high"))
    return table.ranged(value, low, high, form)


def between(low: float | None, high: float | None, digits: int = 2) -> str:
    """Returns an interval after a space; "" without an end."""
    return f" {table.bounds(low, high, f',.{digits}f')}".rstrip()
