"""How figures and tables look: captions, colours, axes, labels at the ends of lines."""

import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # matplotlib is imported only where something is drawn
    from matplotlib.axes import Axes as Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as Figure
else:
    Axes = Axis = Figure = object

# Okabe & Ito 2008, for all common colour-vision deficiencies; without yellow, which is too light.
BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
VERMILION = "#D55E00"
PURPLE = "#CC79A7"
SKY = "#56B4E9"
INK = "#222222"
GREY = "#8A8A8A"
SMALL_PRINT = "#595959"  # 7:1 on white
PALE = "#E8E8E8"
CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, INK)
MARKS = ("o", "D", "s", "^", "v", "P", "X")

TEXT_SIZE = 9.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Caption:
    """The texts, size and panels of a drawing.

    title, source: texts above and below the panels; `canvas` fills in values at their {names}.
    size: width and height in inches.
    x, y, panels: names of the axes and headings of the panels; a list has one text per panel.
    stacked: whether panels are below each other and share the horizontal axis.
    columns: relative widths of a table's columns, by heading.
    form: format of a table's numbers, for example ".2f".
    """

    title: str
    source: str
    size: Sequence[float] = (7.2, 4.6)
    x: str | Sequence[str] = ""
    y: str | Sequence[str] = ""
    panels: Sequence[str] = ("",)
    stacked: bool = False
    columns: Mapping[str, float] = field(default_factory=dict)
    form: str = ""

    def canvas(
        self,
        grid: tuple[int, int] | None = None,
        size: tuple[float, float] | None = None,
        **values: object,
    ) -> tuple[Figure, list[Axes]]:
        """Returns a new figure and its axes, row by row.

        grid: numbers of rows and columns of panels, if they depend on the data.
        size: the size in inches, if it depends on the data.
        values: the value that replaces each {name} in the texts.
        """
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        count = len(self.panels)
        rows, columns = grid or ((count, 1) if self.stacked else (1, count))
        width, height = size or self.size
        layout = ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.08)
        figure = Figure(figsize=(width, height), layout=layout)
        left = {"x": 0.012, "ha": "left"}
        heading, source = self.title.format(**values), self.source.format(**values)
        heading, source = _wrap(heading, width * 10.5), _wrap(source, width * 15.5)
        figure.suptitle(heading, **left, fontsize=11, fontweight="bold", color=INK)
        figure.supxlabel(source, **left, fontsize=8.5, color=SMALL_PRINT)
        panels = figure.subplots(rows, columns, squeeze=False, sharex=self.stacked).ravel().tolist()
        for place, panel in enumerate(panels):
            panel.spines[["top", "right"]].set_visible(False)
            panel.tick_params(labelsize=TEXT_SIZE - 0.5, color=GREY)
            panel.grid(color=PALE, linewidth=0.8)
            panel.set_axisbelow(True)
            texts = (self.x, self.y, "" if grid else self.panels)
            x, y, heading = (text if isinstance(text, str) else text[place] for text in texts)
            name_axes(panel, x=x.format(**values), y=y, panel=heading)
        return figure, panels

    def table(
        self,
        cells: Sequence[Sequence[str]],
        *,
        columns: Mapping[str, float] | None = None,
        size: tuple[float, float] | None = None,
        marked: Collection[tuple[int, int]] = (),
        **values: object,
    ) -> Figure:
        """Returns the drawing of a table, with rules above and below.

        columns: relative widths by heading, if they depend on the data.
        marked: (row, column) of the cells that are printed bold and in vermilion.
        """
        figure, (axes,) = self.canvas(None, size, **values)
        axes.axis("off")
        heading, widths = zip(*(columns or self.columns).items(), strict=True)
        edges = [sum(widths[:i]) / sum(widths) for i in range(len(widths))]
        lines = len(cells) + 1
        axes.set(xlim=(0, 1), ylim=(lines, 0))
        for i, row in enumerate([heading, *cells]):
            for j, (edge, text) in enumerate(zip(edges, row, strict=True)):
                mark = (i - 1, j) in marked
                axes.text(
                    edge, i + 0.5, text, va="center", fontsize=TEXT_SIZE,
                    color=VERMILION if mark else INK, weight="bold" if mark or i == 0 else "normal",
                )  # fmt: skip
        for level, thickness in ((0.0, 1.2), (1.0, 0.6), (float(lines), 1.2)):
            axes.plot([0, 1], [level, level], color=INK, linewidth=thickness, clip_on=False)
        return figure


def _wrap(text: str, characters: float) -> str:
    """Returns the text in lines of limited length; no line breaks before or after a "="."""
    return "\n".join(textwrap.wrap(text.replace(" = ", "\u00a0=\u00a0"), int(characters)))


def name_axes(axes: Axes, *, x: str = "", y: str = "", panel: str = "") -> None:
    """Writes the axes' names and the panel's heading; an empty text leaves what is there."""
    if x:
        axes.set_xlabel(x, fontsize=TEXT_SIZE, color=INK)
    if y:
        axes.set_ylabel(y, fontsize=TEXT_SIZE, color=INK)
    if panel:
        axes.set_title(panel, fontsize=TEXT_SIZE + 0.5, color=INK, loc="left")


def plot_lines(
    axes: Axes, x: Sequence[float], lines: Sequence[tuple[str, Sequence[float]]]
) -> list[tuple[float, str, str]]:
    """Plots named lines, stepped if their values are integers; returns labels for `label_right`."""
    labels = []
    for (name, y), colour in zip(lines, cycle(CYCLE), strict=False):
        steps = all(float(value).is_integer() for value in y)
        axes.plot(x, y, color=colour, linewidth=2, drawstyle="steps-post" if steps else "default")
        labels.append((y[-1], name, colour))
    return labels


def marks() -> Iterator[tuple[str, str]]:
    """Yields pairs of a mark and a colour, endlessly; the first seven are all different."""
    return zip(cycle(MARKS), cycle(CYCLE), strict=False)


def note(
    axes: Axes,
    text: str,
    at: tuple[float, float],
    *,
    within: str | tuple[str, str] = "data",
    offset: tuple[float, float] = (0, 0),
    align: str = "left baseline",
    colour: str = INK,
    size: float = TEXT_SIZE,
) -> None:
    """Writes a remark near the position `at`; within: its coordinates, named as in matplotlib.

    offset: distance of the text from `at`, in points; align: its horizontal, vertical alignment.
    """
    horizontal, vertical = align.split()
    axes.annotate(
        text, at, xycoords=within, xytext=offset, textcoords="offset points", ha=horizontal,
        va=vertical, color=colour, fontsize=size,
    )  # fmt: skip


def tenths_on_x(axes: Axes) -> None:
    """Puts ticks at multiples of 0.1, so that a reader sees where an axis up to 0.95 ends."""
    from matplotlib.ticker import MultipleLocator

    axes.xaxis.set_major_locator(MultipleLocator(0.1))


def count_on(axis: Axis) -> None:
    """Puts the ticks of an axis at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))


def key(axes: Axes, *, anchor: tuple[float, float], columns: int = 1) -> None:
    """Writes a small frameless legend for marks that cannot be labelled in place.

    anchor: the legend's lower left corner, as fractions of the axes; above 1 is outside.
    """
    axes.legend(
        frameon=False, fontsize=TEXT_SIZE - 0.5, labelcolor=INK, loc="lower left",
        bbox_to_anchor=anchor, ncols=columns, borderaxespad=0.0,
    )  # fmt: skip


def octaves_on_x(axes: Axes, ticks: Sequence[int]) -> None:
    """Makes the horizontal axis logarithmic, with the given powers of two as ticks."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [str(tick) for tick in ticks])


def colour_bar(figure: Figure, heat: Any, axes: Axes, *, label: str) -> Any:
    """Returns the bar that explains the colours of a heat map."""
    bar = figure.colorbar(heat, ax=axes, pad=0.02)
    bar.ax.tick_params(labelsize=TEXT_SIZE - 0.5)
    bar.set_label(label, fontsize=TEXT_SIZE, color=INK)
    return bar


def intervals(
    axes: Axes, ends: Iterable[tuple[float, float | None, float | None]], colour: str
) -> None:
    """Draws a vertical line from low to high at each x; none where low or high is None."""
    for x, low, high in ends:
        if low is not None and high is not None:
            axes.plot([x, x], [low, high], color=colour, linewidth=1)


def short_name(draft: str) -> str:
    """Returns a draft's name without the folders of its path, e.g. ngram:m.arpa."""
    return re.sub(r"[^:+]*[/\\](?=[^/\\])", "", draft)
