"""The readable form of a BiLD sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specplan.reports.output import bounds, table

HEADER = [
    "decoder", "fallback", "rollback", "most", "quality", "speed-up [95 %]", "predicted", "error",
    "fallback %", "rollback %", "discarded", "small/large/other",
]  # fmt: skip


def report(result: dict[str, Any]) -> str:
    """Returns a table for each draft and temperature, and what is best in it."""
    parts = []
    for summary in result["summaries"]:
        rows = [
            row
            for row in result["rows"]
            if (row["draft"], row["temperature"]) == (summary["draft"], summary["temperature"])
        ]
        metric = summary["metric"]
        tried = {row["decoder"] for row in rows}
        decoders = [name for name in ("bild", "window", "strict", "lenient") if name in tried]
        front = [number for number, row in enumerate(rows) if row["pareto"]]
        lines = [
            f"{summary['draft']}, temperature {summary['temperature']:g}; quality: {metric}, per "
            f"cent; c = {summary['c']:.3f}",
            table(
                [_cells(row, metric) for row in rows],
                header=HEADER,
                notes=dict.fromkeys(front, "<- front"),
            ),
            "",
            *(_best(summary, loss, decoders) for loss in ("no_loss", "one_point")),
        ]
        if summary["mean_abs_error_percent"] is not None:
            lines.append(_prediction(summary))
        parts.append("\n".join(lines))
    parts.append(
        f"Speed-ups are of decoding, per token, over the large model alone; "
        f"{result['prompts']} prompts, the fastest of {result['repeats']} timings. BiLD is lossy: "
        "it changes the large model's output law."
    )
    return "\n\n".join(parts)


def _prediction(summary: dict[str, Any]) -> str:
    """Returns how far predicted latencies are off."""
    apart = ""
    if summary["window_mean_abs_error_percent"] is not None:
        apart = ", ".join(
            f"{name} {summary[f'{name}_mean_abs_error_percent']:.1f}" for name in ("bild", "window")
        )
        apart = f" ({apart})"
    return (
        f"Predicted latency: {summary['mean_abs_error_percent']:.1f} % off on average{apart}; the "
        f"baseline against itself: {summary['noise_percent']:.1f} %."
    )


def _best(summary: dict[str, Any], loss: str, decoders: Sequence[str]) -> str:
    """Returns each decoder's fastest row that keeps the quality."""
    words = {"no_loss": "At most 0.1 points lost", "one_point": "At most 1 point lost"}
    found = []
    for decoder in decoders:
        row = summary["best"][f"{decoder}_{loss}"]
        found.append(
            f"{decoder} none"
            if row is None
            else f"{decoder} {row['speedup']:.2f} "
            + bounds(row["speedup_low"], row["speedup_high"], digits=2)
        )
    return f"{words[loss]}: {', '.join(found)}."


def _cells(row: dict[str, Any], metric: str) -> list[str]:
    """Returns one row's cells."""

    def shown(name: str, form: str) -> str:
        return "-" if row[name] is None else format(row[name], form)

    is_bild = row["decoder"] in ("bild", "window")
    seconds = [row[f"{part}_seconds"] for part in ("draft", "verify", "other")]
    return [
        row["decoder"],
        shown("fallback", "g"),
        "inf" if is_bild and row["rollback"] is None else shown("rollback", "g"),
        shown("most", "d"),
        f"{row['quality'][metric]:.2f}",
        f"{row['speedup']:.2f} {bounds(row['speedup_low'], row['speedup_high'], digits=2)}",
        shown("predicted", ".2f"),
        "-" if row["error_percent"] is None else f"{row['error_percent']:+.1f} %",
        f"{row['fallback_percent']:.1f}",
        f"{row['rollback_percent']:.1f}",
        str(row["discarded"]),
        "/".join(f"{100 * part / sum(seconds):.0f}" for part in seconds) + " %",
    ]
