"""The figures by name and source, and how one is computed, drawn and written to files.

A figure's module is imported only when the figure is computed or drawn.
"""

from __future__ import annotations

import difflib
import importlib
import io
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from estimator.writing import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from estimator.validation.file import Validated
    from figures.numbers import Numbers

FORMATS = ("png", "svg", "csv")
IMAGE_SUFFIXES = (".png", ".svg", ".pdf")
# Metadata that leave out the time of drawing.
_UNDATED: Mapping[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
DOTS_PER_INCH = 150


class Entry(NamedTuple):
    """One figure of catalogue.toml: its name, source and content.

    made: module and name of the functions that compute and draw the figure, for example
      "leviathan.curves:tokens" for compute_tokens and draw_tokens of figures.leviathan.curves.
    caption: fields of a `figures.drawing.Caption`.
    takes: argument of the computing function: "results" of a validation, a "load", a "served"
      pair of servers, the figure's "name", or "" for no argument.
    """

    name: str
    source: str
    shows: str
    made: str
    caption: Mapping[str, Any]
    takes: str = ""

    def function(self, prefix: str) -> Callable[..., Any]:
        """Returns the function that computes or draws the figure; prefix: "compute" or "draw"."""
        module, _, ending = self.made.partition(":")
        name = f"{prefix}_{ending}" if ending else prefix
        function: Callable[..., Any] = getattr(importlib.import_module(f"figures.{module}"), name)
        return function

    def compute(
        self, results: Validated | None = None, loads: Mapping[str, object] = MappingProxyType({})
    ) -> Numbers:
        """Returns the figure's numbers; arguments that the figure does not need are ignored.

        loads: a `FigureLoad` as "load" for the figure batch-size, a `Served` as "served" for the
          figure traffic.
        """
        given = {"load": None, "served": None, **loads, "results": results, "name": self.name}
        data: Numbers = self.function("compute")(*([given[self.takes]] if self.takes else []))
        return data

    def draw(self, data: Numbers) -> Figure:
        """Returns the drawing of the numbers that `compute` returned."""
        from figures.drawing import Caption

        figure: Figure = self.function("draw")(data, Caption(**self.caption))
        return figure


def write_figure(
    entry: Entry,
    folder: Path,
    *,
    formats: Sequence[str] = FORMATS,
    results: Validated | None = None,
    loads: Mapping[str, object] = MappingProxyType({}),
) -> list[Path]:
    """Computes and draws a figure, and returns its files, one for each format, written atomically.

    A missing folder is created. Refuses an unknown format.
    """
    for name in formats:
        if name not in FORMATS:
            raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {name}")
    folder.mkdir(parents=True, exist_ok=True)
    data = entry.compute(results, loads)
    figure = entry.draw(data) if set(formats) - {"csv"} else None
    written = [folder / f"{entry.name}.{name}" for name in formats]
    for path in written:
        if figure is None or path.suffix == ".csv":
            write_whole(path, data.csv().encode("utf-8"))
        else:
            save_image(figure, path)
    return written


def save_image(figure: Figure, path: Path) -> None:
    """Writes a drawing to one PNG, SVG or PDF file, by its suffix; refuses another suffix.

    Equal drawings give equal files, because no date or random name is written.
    """
    import matplotlib

    suffix = path.suffix.lower()
    if suffix not in IMAGE_SUFFIXES:
        raise ValueError(f"figure file must end in {' or '.join(IMAGE_SUFFIXES)}, got {path.name}")
    arranged = figure.get_layout_engine()
    if arranged is not None:  # once for all formats
        arranged.execute(figure)
        figure.set_layout_engine(None)
    stream, metadata = io.BytesIO(), _UNDATED.get(suffix, {})
    with matplotlib.rc_context({"svg.hashsalt": "specplan"}):
        figure.savefig(stream, format=suffix[1:], dpi=DOTS_PER_INCH, metadata=metadata)
    write_whole(path, stream.getvalue())


def _catalogue() -> Mapping[str, Entry]:
    listed = tomllib.loads((files("figures") / "catalogue.toml").read_text(encoding="utf-8"))
    return MappingProxyType({name: Entry(name, **fields) for name, fields in listed.items()})


FIGURES = _catalogue()


def find_figure(name: str) -> Entry:
    """Returns the figure with that name; refuses an unknown name and suggests the nearest."""
    if name in FIGURES:
        return FIGURES[name]
    ending = [known for known in FIGURES if known.endswith(f"-{name}")]
    near = ending or difflib.get_close_matches(name, FIGURES, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ":"
    raise ValueError(f"unknown figure {name!r}{hint} `list` names them all")
