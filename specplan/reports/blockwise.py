"""The analyses of blockwise drafts as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specplan.reports.output import table


def report(result: Mapping[str, Any]) -> str:
    """Returns what `specplan heads analyse` prints.

    Args:
      result: of `studies.blockwise.analysis.analyse`.
    """
    variants = [
        [
            row["name"],
            _value(row["block_efficiency"], row["low"], row["high"]),
            ""
            if row["name"] == "base"
            else _value(row["change_percent"], row["change_low"], row["change_high"], "+.1f", "%"),
            f"{row['consecutive_percent']:.1f}%" if "consecutive_percent" in row else "",
            f"{row['max_run']:.2f}" if "max_run" in row else "",
        ]
        for row in result["variants"]
    ]
    entropy = [
        [str(row["head"]), f"{row['mean']:.2f}", f"{row['p5']:.2f} to {row['p95']:.2f}"]
        for row in result["entropy"]
    ]
    weights = ", ".join(
        f"{name} {tuning['best_weight']:g}" for name, tuning in result["tuning"].items()
    )
    lines = [
        f"{result['heads']} heads, lattices of {result['k']} tokens a head, {result['texts']} "
        f"texts of {result['tokens']} tokens; weights chosen on {result['tuning_texts']} others: "
        f"{weights or 'none'}",
        table(
            variants, header=["draft", "block efficiency", "over base", "repeated", "longest run"]
        ),
        "",
        table(entropy, header=["head", "entropy (nats)", "5% to 95%"]),
        f"h_max {result['h_max']}",
    ]
    return "\n".join(lines)


def _value(
    value: float, low: float | None, high: float | None, form: str = ".3f", unit: str = ""
) -> str:
    if low is None or high is None:
        return f"{value:{form}}{unit}"
    return f"{value:{form}}{unit} ({low:{form}} to {high:{form}})"
