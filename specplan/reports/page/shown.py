"""One answer as a page and as a picture, as commands, Python and notebooks show it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimator.writing import json_text, write_whole
from specplan.reports.page.inputs import Document, recognised
from specplan.reports.page.page import page, section
from specplan.reports.page.pictures import Section

if TYPE_CHECKING:
    from figures.drawing import Figure


def section_of(data: Any) -> Section:
    """Returns the section of a command's JSON object."""
    from msgspec.json import decode

    plain = decode(json_text(data))  # as a file has it: lists, and no tuples
    kind = recognised(plain)
    if kind is None:
        raise ValueError("a page needs an answer of plan, tree, traffic, observe or compare")
    return section(Document("", kind, plain))


def write_page(made: Section, path: Path) -> None:
    """Writes the page of one answer."""
    title = f"{made.kind}: {made.about}" if made.about else made.kind
    write_whole(path, page([made], title=title).encode())


def write_plot(made: Section, path: Path) -> None:
    """Draws an answer's charts into one PNG, SVG or PDF file."""
    from figures.registry import save_image

    save_image(plot(made), path)


def plot(made: Section) -> Figure:
    """Returns the drawing of an answer's charts, one below the other (needs matplotlib)."""
    from specplan.reports.page.drawn import drawn

    if not made.charts:
        raise ValueError(f"nothing to draw: {made.headline}")
    return drawn(made)
