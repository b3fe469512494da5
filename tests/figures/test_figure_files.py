"""Drawing and writing: all formats, whole files, nothing cut off or written over.

Each figure is computed and drawn once: its texts are looked at where its files have them.
"""

import csv
import io
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from estimator.validation.file import Validated, parse_validation
from figures.numbers import Numbers
from figures.registry import FIGURES, FORMATS, Entry, write_figure

RESULTS = parse_validation(
    {
        "rows": [
            {
                "draft": draft, "temperature": temperature, "gamma": gamma, "alpha": 0.6,
                "tokens": 100, "predicted": 1 + gamma / 10, "measured": 1 + gamma / 11,
                "measured_low": 1.0, "measured_high": 1.9,
            }
            for draft in ("embedded", "lookup+ngram:models/of-a-rather-long-name.arpa")
            for temperature in (0, 0.5, 1)
            for gamma in (2, 4, 8)
        ]
    },
    name="a.json",
)  # fmt: skip
SHOWN = [pytest.param(entry, None, id=entry.name) for entry in FIGURES.values()] + [
    pytest.param(entry, RESULTS, id=f"{entry.name}-measured")
    for entry in FIGURES.values()
    if entry.takes == "results"
]


@pytest.mark.parametrize(("entry", "results"), SHOWN)
def test_a_figure_is_written_with_its_numbers_and_readable_texts(
    entry: Entry, results: Validated | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = computed(entry, results, monkeypatch)
    figure = entry.draw(data)
    monkeypatch.setattr(Entry, "compute", lambda *_: data)
    monkeypatch.setattr(Entry, "draw", lambda *_: figure)
    written = write_figure(entry, tmp_path / "new", formats=("svg", "csv"), results=results)
    assert [path.name for path in written] == [f"{entry.name}.svg", f"{entry.name}.csv"]
    assert sorted((tmp_path / "new").iterdir()) == sorted(written)  # no partial file is left
    svg, table = (path.read_bytes() for path in written)
    assert svg.startswith(b"<?xml")
    heading, *rows = csv.reader(io.StringIO(table.decode()))
    assert len(rows) >= 4
    assert all(len(row) == len(heading) for row in rows)
    assert len(set(heading)) == len(heading)
    assert entry.source == "ours" or "20" in entry.source
    assert entry.shows
    require_whole_and_apart(visible_texts(figure), figure)
    (source,) = (text for text in figure.texts if text.get_text() == figure.get_supxlabel())
    assert float(source.get_fontsize()) >= 8
    # WCAG 2.1: relative luminance, and the contrast to white.
    linear = [
        value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4
        for value in to_rgb(source.get_color())
    ]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    assert 1.05 / (luminance + 0.05) >= 4.5


def computed(entry: Entry, results: Validated | None, monkeypatch: pytest.MonkeyPatch) -> Numbers:
    """Returns a figure's numbers, while any import of matplotlib would fail."""
    with monkeypatch.context() as patches:
        for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
            patches.setitem(sys.modules, name, None)
        return entry.compute(results)


def require_whole_and_apart(texts: list[tuple[Text, Bbox]], figure: Figure) -> None:
    """Fails where a text leaves the page, or is written over another."""
    page = Bbox.from_bounds(-1, -1, figure.bbox.width + 2, figure.bbox.height + 2)
    for text, box in texts:
        assert page.contains(box.x0, box.y0), text.get_text()
        assert page.contains(box.x1, box.y1), text.get_text()
    extents = np.array([box.extents for _, box in texts])
    low, high = extents[:, None, :2], extents[:, None, 2:]
    common = np.minimum(high, high.swapaxes(0, 1)) - np.maximum(low, low.swapaxes(0, 1))
    # Ends of two axes may share a corner; more than two dots each way is a collision.
    one, other = np.nonzero(np.triu(common.min(axis=-1) >= 2, 1))
    assert not one.size, [
        (texts[i][0].get_text(), texts[j][0].get_text()) for i, j in zip(one, other, strict=True)
    ]


def visible_texts(figure: Figure) -> list[tuple[Text, Bbox]]:
    """Returns every text of a figure that was drawn, and its place in dots."""
    FigureCanvasAgg(figure)  # texts are as wide as in a PNG file
    figure.draw_without_rendering()
    placed = [
        (text, text.get_window_extent())
        for text in figure.findobj(Text)
        if isinstance(text, Text) and text.get_visible() and text.get_text().strip()
    ]
    # matplotlib keeps labels of ticks outside of the limits, and of axes switched off, undrawn.
    undrawn = {
        id(label)
        for panel in figure.axes
        for axis, ends in ((panel.xaxis, panel.get_xlim()), (panel.yaxis, panel.get_ylim()))
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        for label in (tick.label1, tick.label2)
        if not (panel.axison and min(ends) <= tick.get_loc() <= max(ends))
    }
    return [(text, box) for text, box in placed if id(text) not in undrawn and box.width > 0]


def test_the_same_figure_is_the_same_bytes_in_all_formats(tmp_path: Path) -> None:
    entry = FIGURES["leviathan-fig3"]
    first = write_figure(entry, tmp_path / "a")
    second = write_figure(entry, tmp_path / "b")
    assert [path.name for path in first] == [f"{entry.name}.{name}" for name in FORMATS]
    assert first[0].read_bytes().startswith(b"\x89PNG")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_csv_alone_draws_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(entry: Entry, data: object) -> Figure:
        raise AssertionError("drawn")

    monkeypatch.setattr(Entry, "draw", fail)
    (path,) = write_figure(FIGURES["leviathan-table1"], tmp_path, formats=["csv"])
    assert path.read_text().startswith("alpha,gamma,operations,speed")


def test_an_interrupted_write_leaves_the_earlier_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = FIGURES["leviathan-table1"]
    (path,) = write_figure(entry, tmp_path, formats=["csv"])
    path.write_text("earlier")

    def fail(source: Path, destination: Path) -> None:
        raise OSError("disk gone")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk gone"):
        write_figure(entry, tmp_path, formats=["csv"])
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_an_unknown_format_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="format must be one of png, svg, csv, got pdf"):
        write_figure(FIGURES["leviathan-fig2"], tmp_path / "new", formats=["png", "pdf"])
    assert not (tmp_path / "new").exists()
