"""A paper's table: the records behind it, how they are laid out, and the one way to draw it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from figures.drawing import style
from figures.drawing.table import Rows


@dataclass(frozen=True, slots=True)
class Layout:
    """The cells of a drawn table.

    widths: of the columns, in any unit.
    width, height: of the drawing, inches.
    marked: cells (row, column) that stand out.
    """

    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    widths: tuple[float, ...]
    width: float
    height: float
    marked: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class PaperRows(Rows[Any]):
    """The records of a table, laid out, with what stands above and below."""

    layout: Layout
    title: str
    source: str


@dataclass(frozen=True, slots=True)
class PaperTable:
    """One table as it is declared.

    records: returns the paper's numbers and ours.
    lay: returns their cells.
    title, source: above and below; a title that tells numbers is a function of the records.
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
