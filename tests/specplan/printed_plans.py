"""Reads the numbers that plans and traffic print, as they are printed."""

import re
from typing import Any

# Columns of the tables, in order: the header, and how many words a cell of it has.
HEADERS = {
    "gpu": 1, "fits up to batch": 1, "alpha": 1, "c": 1, "context": 1, "batch": 1, "best K": 1,
    "advised K": 1, "gamma (K)": 1, "tokens/call": 1, "speed-up": 1, "90 %": 3, "gain": 2,
    "ms/token": 1, "tokens/s": 1, "without": 1, "operations": 1,
}  # fmt: skip


def table_of(text: str) -> list[dict[str, str]]:
    """Returns the first table of a text: each row's cells by header, and what follows as "note"."""
    lines = iter(text.splitlines())
    head = next(line for line in lines if "tokens/call" in line and "speed-up" in line)
    headers = [name for name in HEADERS if re.search(rf"(?:^|\s){re.escape(name)}(?:\s|$)", head)]
    rows = []
    for line in lines:
        if not re.match(r"\s*[\d.]+(\s|$)", line):
            break
        row, words = {}, line.split()
        for name in headers:
            first = words[0] if words else ""
            count = 1 if first == "-" else HEADERS[name] + (first in ("over", "under"))
            row[name], words = " ".join(words[:count]), words[count:]
        rows.append(row | {"note": " ".join(words)})
    return rows


def sentence(pattern: str, text: str) -> tuple[str, ...]:
    """Returns the groups of a pattern in a text, which may be folded anywhere; () if not there."""
    found = re.search(pattern, " ".join(text.split()))
    return () if found is None else found.groups()


def cells_of(point: dict[str, Any]) -> dict[str, str]:
    """Returns how a point of JSON's curve, or a row of JSON, is printed."""
    cells = {
        "tokens/call": f"{point['expected_tokens']:.2f}",
        "speed-up": f"{point['improvement_factor']:.2f}",
    }
    if "improvement_factor_low" in point:
        low, high = point["improvement_factor_low"], point["improvement_factor_high"]
        cells["90 %"] = f"{low:.2f} to {high:.2f}"
    if point.get("ms_per_token") is not None:
        cells["ms/token"] = f"{point['ms_per_token']:.2f}"
        cells["tokens/s"] = f"{point['tokens_per_second']:.1f}"
    return cells
