"""A page's charts as a drawing by matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence

from figures import drawing
from specplan.reports.page.pictures import Chart, Section, Series, Span

_PANEL_INCHES, _TEXT_INCHES, _WIDTH = 3.1, 1.1, 7.2
# Share of the distance between categories that their bars take, and opacity of bands and spans.
_BARS, _BAND, _SPAN = 0.8, 0.18, 0.12
# Distance between the dots of one category, and letters that fit across a panel.
_DODGE, _LETTERS = 0.14, 70


def drawn(section: Section) -> drawing.Figure:
    """Returns the drawing of all charts of a section, one below the other."""
    charts = section.charts
    caption = drawing.Caption(
        title=_literal(section.headline),
        source=_literal(section.title),
        size=(_WIDTH, _PANEL_INCHES * len(charts) + _TEXT_INCHES),
        x=[_literal(chart.x) for chart in charts],
        y=[chart.y for chart in charts],
        panels=[chart.title for chart in charts],
    )
    figure, panels = caption.canvas((len(charts), 1))
    for axes, chart in zip(panels, charts, strict=True):
        drawing.name_axes(axes, panel=chart.title)
        _draw(axes, chart)
    return figure


def _literal(text: str) -> str:
    """Returns a text whose braces `Caption.canvas` leaves as they are, without mathematics."""
    return text.replace("{", "{{").replace("}", "}}").replace("$", r"\$")


def _draw(axes: drawing.Axes, chart: Chart) -> None:
    for span in chart.spans:
        colour = drawing.GREY if span.colour is None else _colour(span.colour)
        axes.axvspan(span.first, span.last, color=colour, alpha=_SPAN, linewidth=0)
        if _share(chart, span) * _LETTERS > len(span.label):
            drawing.note(axes, span.label, (span.first, 0.98), within=("data", "axes fraction"),
                         offset=(2, 0), align="left top")  # fmt: skip
    bars = [series for series in chart.series if series.mark == "bars"]
    for level in chart.levels:
        if chart.categories:
            axes.axhline(level.y, color=drawing.GREY, linewidth=1, label=level.label)
            continue
        axes.axhline(level.y, color=drawing.GREY, linewidth=1)
        drawing.note(axes, level.label, (0.0, level.y), within=("axes fraction", "data"),
                     offset=(4, 3), align="left bottom")  # fmt: skip
    for at, drawn in enumerate(chart.series):
        if drawn.mark == "bars":
            _bars(axes, drawn, bars)
        else:
            side = at - (len(chart.series) - 1) / 2
            ring = sum(other.mark == "rings" for other in chart.series[:at])
            _points(axes, drawn, _DODGE * side if chart.categories and not bars else 0.0, ring=ring)
    for label, x, y in chart.marks:
        axes.plot(x, y, "D", color=drawing.INK, markersize=7)
        drawing.note(axes, label, (x, y), offset=(0, 8), align="center bottom")
    if chart.logarithmic:
        first, last = (end(span.x for series in chart.series for span in series.points)
                       for end in (min, max))  # fmt: skip
        drawing.octaves_on_x(axes, [2**at for at in range(16) if first <= 2**at <= last])
    elif chart.categories:
        long = max(map(len, chart.categories)) * len(chart.categories) > 60
        axes.set_xticks(range(len(chart.categories)), chart.categories)
        axes.set_xlim(-0.5, len(chart.categories) - 0.5)
        if long:
            axes.tick_params(axis="x", rotation=30)
    elif all(point.x == round(point.x) for series in chart.series for point in series.points):
        drawing.count_on(axes.xaxis)
    axes.margins(y=0.12)
    if len(chart.series) > 1 or (chart.categories and chart.levels):
        axes.legend(frameon=False, fontsize=drawing.TEXT_SIZE - 0.5, labelcolor=drawing.INK)


def _colour(index: int) -> str:
    return drawing.CYCLE[index % len(drawing.CYCLE)]


def _share(chart: Chart, span: Span) -> float:
    """Returns the share of the horizontal axis that a span takes."""
    ends = [end for span in chart.spans for end in (span.first, span.last)]
    ends += [point.x for series in chart.series for point in series.points]
    low, high, first, last = min(ends), max(ends), span.first, span.last
    if chart.logarithmic:
        low, high, first, last = (math.log(end) for end in (low, high, first, last))
    return (last - first) / (high - low)


def _points(axes: drawing.Axes, series: Series, shift: float, *, ring: int) -> None:
    """Draws the points of a series; ring: how many series of rings are drawn before it."""
    x, y = [point.x + shift for point in series.points], [point.y for point in series.points]
    colour, line = _colour(series.colour), series.mark not in ("dots", "rings")
    ends = [(point.x + shift, point.low, point.high) for point in series.points]
    style = {"line": "-", "dashed": "--"}.get(series.mark, "")
    marker = "o" if len(x) <= 40 else ""
    rings = series.mark == "rings"
    size = (10 + 4 * ring if rings else 6) if not line else 4
    axes.plot(x, y, linestyle=style, marker=marker, markersize=size, color=colour,
              markerfacecolor="none" if rings else colour, label=series.name)  # fmt: skip
    if not line:
        drawing.intervals(axes, ends, colour)
        return
    band = [(at, low, high) for at, low, high in ends if low is not None and high is not None]
    if band:
        places, low_ends, high_ends = zip(*band, strict=True)
        axes.fill_between(places, low_ends, high_ends, color=colour, alpha=_BAND, linewidth=0)


def _bars(axes: drawing.Axes, series: Series, beside: Sequence[Series]) -> None:
    width = _BARS / len(beside)
    shift = (beside.index(series) - (len(beside) - 1) / 2) * width
    x, y = [point.x + shift for point in series.points], [point.y for point in series.points]
    axes.bar(x, y, width, color=_colour(series.colour), label=series.name)
    ends = [(at, point.low, point.high) for at, point in zip(x, series.points, strict=True)]
    drawing.intervals(axes, ends, drawing.INK)
