"""Writes a figure as PNG, SVG and CSV files, each atomically."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from estimator.validation.file import Validated
from estimator.writing import write_whole
from figures.registry import Entry

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IMAGE_SUFFIXES = (".png", ".svg")
FORMATS = ("png", "svg", "csv")


def write_figure(
    entry: Entry,
    folder: Path,
    *,
    formats: Sequence[str] = FORMATS,
    results: Validated | None = None,
    load: object | None = None,
    dots_per_inch: int = 150,
) -> list[Path]:
    """Computes and draws a figure; returns the files written, one for each format.

    Raises:
      ValueError: if a format is unknown.
      OSError: if the folder or a file cannot be written; a missing folder is created.
    """
    for name in formats:
        if name not in FORMATS:
            raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {name}")
    folder.mkdir(parents=True, exist_ok=True)
    data = entry.compute(results, load)
    figure = entry.draw(data) if set(formats) - {"csv"} else None
    written = []
    for suffix in formats:
        path = folder / f"{entry.name}.{suffix}"
        if figure is None or suffix == "csv":
            write_whole(path, data.csv().encode("utf-8"))
        else:
            save_image(figure, path, dots_per_inch=dots_per_inch)
        written.append(path)
    return written


def save_image(figure: Figure, path: Path, *, dots_per_inch: int = 150) -> None:
    """Writes a drawing to one file, PNG or SVG by its suffix.

    Raises ValueError if the file is neither.
    """
    if path.suffix.lower() not in IMAGE_SUFFIXES:
        raise ValueError(f"figure file must end in {' or '.join(IMAGE_SUFFIXES)}, got {path.name}")
    write_whole(path, _image(figure, path.suffix.lower()[1:], dots_per_inch))


def _image(figure: Figure, image_format: str, dots_per_inch: int) -> bytes:
    """Returns the file's bytes, equal for equal drawings: without a date or random names."""
    import matplotlib

    arranged = figure.get_layout_engine()
    if arranged is not None:  # once for all formats
        arranged.execute(figure)
        figure.set_layout_engine(None)
    stream = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "specplan"}):
        figure.savefig(
            stream,
            format=image_format,
            dpi=dots_per_inch,
            metadata={"Date": None} if image_format == "svg" else {},
        )
    return stream.getvalue()
