"""The analyses of blockwise drafts as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specplan.reports.table import Column, table


def report(result: Mapping[str, Any]) -> str:
    """Returns what `specplan heads analyse` prints.

    Args:
      result: of `studies.blockwise.analysis.analyse`.
    """
    weights = ", ".join(
        f"{name} {tuning['best_weight']:g}" for name, tuning in result["tuning"].items()
    )
    lines = [
        f"{result['heads']} heads, lattices of {result['k']} tokens a head, {result['texts']} "
        f"texts of {result['tokens']} tokens; weights chosen on {result['tuning_texts']} others: "
        f"{weights or 'none'}",
        table(result["variants"], _VARIANTS),
        "",
        table(result["entropy"], _ENTROPY),
        f"h_max {result['h_max']}",
    ]
    return "\n".join(lines)


def _value(
    value: float, low: float | None, high: float | None, form: str = ".3f", unit: str = ""
) -> str:
    if low is None or high is None:
        return f"{value:{form}}{unit}"
    return f"{value:{form}}{unit} ({low:{form}} to {high:{form}})"


def _over_base(row: dict[str, Any]) -> str:
    if row["name"] == "base":
        return ""
    return _value(row["change_percent"], row["change_low"], row["change_high"], "+.1f", "%")


_VARIANTS = [
    Column[dict[str, Any]]("draft", lambda row: row["name"]),
    Column[dict[str, Any]](
        "block efficiency", lambda row: _value(row["block_efficiency"], row["low"], row["high"])
    ),
    Column[dict[str, Any]]("over base", _over_base),
    Column[dict[str, Any]](
        "repeated",
        lambda row: f"{row['consecutive_percent']:.1f}%" if "consecutive_percent" in row else "",
    ),
    Column[dict[str, Any]](
        "longest run", lambda row: f"{row['max_run']:.2f}" if "max_run" in row else ""
    ),
]
_ENTROPY = [
    Column[dict[str, Any]]("head", lambda row: str(row["head"])),
    Column[dict[str, Any]]("entropy (nats)", lambda row: f"{row['mean']:.2f}"),
    Column[dict[str, Any]]("5% to 95%", lambda row: f"{row['p5']:.2f} to {row['p95']:.2f}"),
]
