"""One answer as a page and as a picture, as commands, Python and notebooks show it."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from importlib.util import find_spec
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
        raise ValueError("a page needs the answer of a command, got another")
    return section(Document("", kind, plain))


def write_page(section: Section, path: Path, *, reload: int | None = None) -> None:
    """Writes the page of one answer; reload: seconds until the page loads itself again."""
    write_whole(path, page([section], title=section.title, reload=reload).encode())


def write_plot(section: Section, path: Path) -> None:
    """Draws an answer's charts into one PNG, SVG or PDF file."""
    from figures.registry import save_image

    save_image(plot(section), path)


def notebook_html(section: Section) -> str:
    """Returns the headline, the first table and, with matplotlib, the picture as HTML."""
    parts = [f"<p><b>{escape(section.headline)}</b></p>"]
    if section.charts and find_spec("matplotlib") is not None:
        image = io.BytesIO()
        plot(section).savefig(image, format="png")
        coded = base64.b64encode(image.getvalue()).decode()
        about = escape("; ".join(chart.title for chart in section.charts))
        parts.append(f'<img alt="{about}" src="data:image/png;base64,{coded}">')
    for table in section.tables[:1]:
        rows = [_row("th", table.columns)]
        rows += [_row("td", cells, bold=at == table.marked) for at, cells in enumerate(table.rows)]
        parts.append(f"<table>{''.join(rows)}</table>")
    return "\n".join(parts)


def _row(tag: str, cells: Sequence[str], *, bold: bool = False) -> str:
    texts = (f"<b>{escape(cell)}</b>" if bold else escape(cell) for cell in cells)
    return f"<tr>{''.join(f'<{tag}>{text}</{tag}>' for text in texts)}</tr>"


def plot(section: Section) -> Figure:
    """Returns the drawing of an answer's charts, one below the other (needs matplotlib)."""
    from specplan.reports.page.drawn import drawn

    if not section.charts:
        raise ValueError(f"nothing to draw: {section.headline}")
    return drawn(section)
