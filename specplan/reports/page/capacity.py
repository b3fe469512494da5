"""The capacity of a server as coloured ranges of rates: its interval, and what is beyond it."""

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.numerics.intervals import percent
from specplan.reports.page.pictures import Span

_MOST = "most_requests_per_second"
# A range is shown if it begins below so many times the largest stated rate, and ends there.
_SHOWN = 2.0
_READING = "Coloured as the lines: the {} interval of each capacity; grey: beyond both."


def capacity_spans(answer: Mapping[str, Any], rates: Sequence[float]) -> list[Span]:
    """Returns the interval of the capacity with speculation and without, and what is beyond.

    Ranges that begin far above the stated rates are left out.
    """
    ends = [(answer.get(f"{_MOST}{way}_low"), answer.get(f"{_MOST}{way}_high"))
            for way in ("", "_without")]  # fmt: skip
    capacity = max(answer[_MOST], answer[f"{_MOST}_without"])
    last = min(
        _SHOWN * max(rates), max(*rates, 1.05 * max(capacity, *(high or 0.0 for _, high in ends)))
    )
    spans = [
        Span(low, min(high, last), "", colour)
        for colour, (low, high) in enumerate(ends)
        if low is not None and high is not None and low < last
    ]
    edge = max([capacity, *(high for _, high in ends if high is not None)])
    return [*spans, *([Span(edge, last, "beyond")] if edge < last else [])]


def reading(answer: Mapping[str, Any]) -> str:
    """Returns how to read the ranges."""
    if answer.get(f"{_MOST}_low") is None:
        return "Grey: beyond the capacity."
    return _READING.format(percent())
