"""Writing a figure as PNG, SVG and CSV files, each complete or not there at all."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path

from figures.registry import Entry, FigureData
from figures.results import Results

FORMATS = ("png", "svg", "csv")


def write_figure(
    entry: Entry,
    folder: Path,
    *,
    formats: Sequence[str] = FORMATS,
    results: Results | None = None,
    dots_per_inch: int = 150,
) -> list[Path]:
    """Computes and draws one figure and returns the files written, named after it.

    Args:
      entry: the figure.
      folder: where to write; made if it is not there.
      formats: of FORMATS.
      results: of a validation, for the figures that take them.
      dots_per_inch: of the PNG.

    Raises:
      ValueError: if a format is unknown.
      OSError: if the folder or a file cannot be written.
    """
    for name in formats:
        if name not in FORMATS:
            raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {name}")
    folder.mkdir(parents=True, exist_ok=True)
    data = entry.compute(results)
    images = [name for name in formats if name != "csv"]
    contents = _drawn(entry, data, images, dots_per_inch) if images else {}
    if "csv" in formats:
        contents["csv"] = data.table().csv().encode("utf-8")
    written = []
    for name in formats:
        path = folder / f"{entry.name}.{name}"
        _write_whole(path, contents[name])
        written.append(path)
    return written


def _drawn(
    entry: Entry, data: FigureData, images: Sequence[str], dots_per_inch: int
) -> dict[str, bytes]:
    """Returns the drawing in each image format; the same bytes for the same data."""
    import matplotlib

    figure = entry.draw(data)
    contents = {}
    with matplotlib.rc_context({"svg.hashsalt": entry.name}):
        for name in images:
            stream = io.BytesIO()
            undated = {"Date": None} if name == "svg" else {}
            figure.savefig(stream, format=name, dpi=dots_per_inch, metadata=undated)
            contents[name] = stream.getvalue()
    return contents


def _write_whole(path: Path, content: bytes) -> None:
    """Writes to a file beside the path and moves it there, so that no reader sees half of it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        partial.write_bytes(content)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
