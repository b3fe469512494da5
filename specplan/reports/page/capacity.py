"""The capacity of a server as coloured ranges of rates: its interval, with and without drafts."""

from collections.abc import Mapping
from typing import Any

from simulator.numerics.intervals import percent
from specplan.reports.page.pictures import Span


def capacity_spans(answer: Mapping[str, Any]) -> list[Span]:
    """Returns the interval of the capacity with speculation and without; [] without intervals."""
    names = [f"most_requests_per_second{way}" for way in ("", "_without")]
    ends = [(answer.get(f"{name}_low"), answer.get(f"{name}_high")) for name in names]
    return [Span(low, high, "", colour) for colour, (low, high) in enumerate(ends) if low and high]


def reading(answer: Mapping[str, Any]) -> str:
    """Returns how to read the ranges."""
    text = f"Coloured as the lines: the {percent()} interval of each capacity."
    return text * bool(answer["draws"])
