"""A figure's numbers, as its CSV file has them, and tables that are drawn as figures."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from figures.drawing import style

Record = TypeVar("Record")


def csv_of(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Returns CSV: None is an empty cell, floats have the shortest form that reads back exactly."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


@dataclass(frozen=True, slots=True)
class FigureRows(Generic[Record]):
    """The numbers of a figure: records of one flat dataclass, each a row of its CSV file.

    caption: origin of the numbers, e.g. a results file; None: as the figure's source says.
    """

    rows: tuple[Record, ...]
    caption: str | None = None

    def csv(self) -> str:
        first: Any = self.rows[0]
        names = [field.name for field in dataclasses.fields(first)]
        return csv_of(names, ([getattr(row, name) for name in names] for row in self.rows))


@dataclass(frozen=True, slots=True)
class Curves:
    """The numbers of a figure as columns of its CSV file, often lines over one axis.

    x_name: name of the first column.
    x: shape (points,).
    lines: by column name, each of shape (points,).
    """

    x_name: str
    x: tuple[Any, ...]
    lines: Mapping[str, tuple[Any, ...]]

    def csv(self) -> str:
        rows = zip(self.x, *self.lines.values(), strict=True)
        return csv_of((self.x_name, *self.lines), rows)


def columns_of(names: str, rows: Iterable[Sequence[Any]]) -> Curves:
    """Returns the columns of some rows, one or more, by their names, separated by spaces."""
    first, *others = names.split()
    x, *lines = zip(*rows, strict=True)
    return Curves(first, x, dict(zip(others, lines, strict=True)))


def curves(x_name: str, x: Any, lines: Mapping[str, Any]) -> Curves:
    """Returns lines over one axis from arrays of shape (points,)."""
    columns = {name: tuple(line.tolist()) for name, line in lines.items()}
    return Curves(x_name, tuple(x.tolist()), columns)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A declared figure: `compute()` returns its numbers, `draw(numbers)` the drawing."""

    compute: Callable[[], Any]
    draw: Callable[[Any], style.Figure]


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


def paper_table(
    records: Callable[[], Sequence[Any]],
    lay: Callable[[Sequence[Any]], Layout],
    title: str | Callable[[Sequence[Any]], str],
    source: Callable[[], str],
) -> Drawing:
    """Declares a figure that is drawn as a table.

    Args:
      records: returns the paper's numbers and ours.
      lay: returns the cells of the records.
      title: text above the table; a function of the records if it contains numbers.
      source: returns the text below the table.
    """

    def draw(data: FigureRows[Any]) -> style.Figure:
        heading = title if isinstance(title, str) else title(data.rows)
        return _draw_cells(lay(data.rows), heading, source())

    return Drawing(lambda: FigureRows(tuple(records())), draw)


def _draw_cells(laid: Layout, title: str, source: str) -> style.Figure:
    """Returns the drawing: rules above and below, marked cells bold and in vermilion."""
    figure, (axes,) = style.canvas(title, source=source, width=laid.width, height=laid.height)
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
