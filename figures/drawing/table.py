"""Tables: the numbers behind a figure, as its CSV file has them, and tables drawn as figures."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from figures.drawing import style

Record = TypeVar("Record")
Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns and rows of the same width; None is an empty cell."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"row must have {len(self.columns)} cells, got {len(row)}")

    def csv(self) -> str:
        """Returns the table as CSV; floats in the shortest form that reads back exactly."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return text.getvalue()


def table_of(records: Sequence[Any]) -> Table:
    """Returns records of one flat dataclass as a table with a column for each field."""
    names = tuple(field.name for field in dataclasses.fields(records[0]))
    return Table(names, tuple(tuple(getattr(r, name) for name in names) for r in records))


@dataclass(frozen=True, slots=True)
class FigureRows(Generic[Record]):
    """The data of a figure: records of one flat dataclass, each a row of its CSV file."""

    rows: tuple[Record, ...]

    def table(self) -> Table:
        return table_of(self.rows)


@dataclass(frozen=True, slots=True)
class Curves:
    """The data of a figure: lines over one axis, each a column of its CSV file.

    x_name: name of the first column.
    names: names of the lines' columns.
    x: shape (points,).
    lines: by name, shape (names, points).
    """

    x_name: str
    x: tuple[float, ...]
    names: tuple[str, ...]
    lines: tuple[tuple[float, ...], ...]

    def table(self) -> Table:
        return Table((self.x_name, *self.names), tuple(zip(self.x, *self.lines, strict=True)))

    def line(self, name: str) -> tuple[float, ...]:
        """Returns a line by its name."""
        return self.lines[self.names.index(name)]


def curves(x_name: str, x: Any, lines: Mapping[str, Any]) -> Curves:
    """Returns lines over one axis from arrays of shape (points,)."""
    values = tuple(tuple(line.tolist()) for line in lines.values())
    return Curves(x_name, tuple(x.tolist()), tuple(lines), values)


@dataclass(frozen=True, slots=True)
class Layout:
    """The cells of a drawn table.

    widths: relative widths of the columns.
    width, height: size of the drawing in inches.
    marked: cells (row, column) to highlight.
    """

    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    widths: tuple[float, ...]
    width: float
    height: float
    marked: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class PaperRows(FigureRows[Any]):
    """The records of a table, their layout, title and source."""

    layout: Layout
    title: str
    source: str


@dataclass(frozen=True, slots=True)
class PaperTable:
    """The declaration of one table.

    records: returns the paper's numbers and ours.
    lay: returns the cells of the records.
    title: text above the table; a function of the records if it contains numbers.
    source: returns the text below the table.
    """

    records: Callable[[], Sequence[Any]]
    lay: Callable[[Sequence[Any]], Layout]
    title: str | Callable[[Sequence[Any]], str]
    source: Callable[[], str]

    def compute(self) -> PaperRows:
        """Returns the table's numbers, cells and captions."""
        records = tuple(self.records())
        title = self.title if isinstance(self.title, str) else self.title(records)
        return PaperRows(records, self.lay(records), title, self.source())

    def draw(self, data: PaperRows) -> style.Figure:
        """Returns the drawing: rules above and below, marked cells bold and in vermilion."""
        laid = data.layout
        figure, (axes,) = style.canvas(
            data.title, source=data.source, width=laid.width, height=laid.height
        )
        axes.axis("off")
        edges = [sum(laid.widths[:i]) / sum(laid.widths) for i in range(len(laid.widths))]
        lines = len(laid.cells) + 1
        axes.set_xlim(0, 1)
        axes.set_ylim(lines, 0)
        look: dict[str, Any] = {"va": "center", "fontsize": style.TEXT_SIZE}
        for edge, heading in zip(edges, laid.columns, strict=True):
            axes.text(edge, 0.5, heading, **look, color=style.INK, weight="bold")
        for i, row in enumerate(laid.cells):
            for j, (edge, text) in enumerate(zip(edges, row, strict=True)):
                colour, weight = style.INK, "normal"
                if (i, j) in laid.marked:
                    colour, weight = style.VERMILION, "bold"
                axes.text(edge, i + 1.5, text, **look, color=colour, weight=weight)
        for height, width in ((0.0, 1.2), (1.0, 0.6), (float(lines), 1.2)):
            axes.plot([0, 1], [height, height], color=style.INK, linewidth=width, clip_on=False)
        return figure
