"""The readable form of a validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from specplan.reports.output import bounds, table

if TYPE_CHECKING:
    from estimator.validation.validation import Validation

LONGEST_NAME = 24
HEADER = [
    "draft", "temp", "policy", "alpha", "c", "Thm 8", "ahead [95 %]", "calibrated",
    "measured [95 %]", "error", "calls", "as target", "draft/verify/other",
]  # fmt: skip


def report(
    result: dict[str, Any], validations: Sequence[Validation], prompts: int, repeats: int
) -> str:
    """Returns a table of the rows, what it was measured on, and why Theorem 8 differs."""
    rows = [_cells(row) for row in result["rows"]]
    summary = result["summary"]
    tokens = sum(row["tokens"] for row in result["rows"])
    lines = [
        table(rows, header=HEADER, marked=_best(result["rows"])),
        "",
        f"Speed-ups over decoding one token at a time; {prompts} prompts, {tokens} tokens in all "
        f"rows, the fastest of each block's {repeats} timings.",
        "Theorem 8 takes verification as free and acceptances as i.i.d.; the costs here:",
        *(_costs(validation) for validation in validations),
    ]
    if summary["mean_abs_error_percent"] is not None:
        lines.append(
            f"Calibrated prediction against measurement: {summary['mean_abs_error_percent']:.1f} % "
            f"off on average, {summary['max_abs_error_percent']:.1f} % at most; the baseline "
            f"against itself: {summary['noise_percent']:.1f} %."
        )
    if not summary["quiet"]:
        worst = max(summary["noise_percent"], summary["noise_within_percent"])
        lines.append(
            "This machine was not quiet: the baseline's speed differs from itself by up to "
            f"{worst:.0f} %. End other programs, or raise --repeats."
        )
    lossy = sorted({row["rule"] for row in result["rows"] if not row["lossless"]})
    if lossy:
        lines.append(f"Lossy: the rule {', '.join(lossy)} changes the target's output law.")
    parted = [row for row in result["rows"] if row["identical_to_target"] is False]
    gaps = [row["tie_gap"] for row in parted if row["lossless"]]
    if gaps:
        lines.append(
            "NO: greedy text parts from the target's own where its two likeliest logits lie "
            f"at most {max(gaps):.3g} apart; verifying several tokens at once rounds differently."
        )
    return "\n".join(lines)


def _best(rows: Sequence[dict[str, Any]]) -> list[int]:
    """Returns the index of each temperature's fastest row, if that gains."""
    fastest = [
        max(
            (index for index, row in enumerate(rows) if row["temperature"] == temperature),
            key=lambda index: float(rows[index]["measured"]),
        )
        for temperature in dict.fromkeys(row["temperature"] for row in rows)
    ]
    return [index for index in fastest if rows[index]["measured"] > 1]


def _costs(validation: Validation) -> str:
    """Returns one line on what Theorem 8 leaves out, in this pair's own numbers."""
    row = validation.rows[-1]
    cost = validation.cost
    longest = max(cost.target_seconds)
    step = cost.verify_seconds(1)
    return (
        f"  {_short(row.draft)}, temperature {row.temperature:g}: target step {1e3 * step:.1f} ms, "
        f"draft step {1e3 * cost.draft_seconds:.2f} ms; verifying {longest} tokens takes "
        f"{float(cost.verify_seconds(longest)) / float(step):.2f} steps, each block "
        f"{1e3 * cost.overhead_seconds:.2f} ms besides"
    )


def _temperatures(target: float, draft: float | None) -> str:
    """Returns the target's temperature, and the draft's where it is another."""
    return f"{target:g}" if draft in (None, target) else f"{target:g}, draft {draft:g}"


def _short(name: str) -> str:
    """Returns a name, of a long path its end."""
    return name if len(name) <= LONGEST_NAME else f"...{name[3 - LONGEST_NAME :]}"


def _cells(row: dict[str, Any]) -> list[str]:
    """Returns one row's cells."""

    def times(name: str) -> str:
        return "-" if row[name] is None else f"{row[name]:.2f}"

    def between(name: str) -> str:
        if row[name] is None:
            return "-"
        return f"{times(name)} {bounds(row[f'{name}_low'], row[f'{name}_high'], digits=2)}"

    seconds = [row[f"{part}_seconds"] for part in ("draft", "verify", "other")]
    shares = "/".join(f"{100 * part / sum(seconds):.0f}" for part in seconds)
    policy = row["policy"] if row["gamma"] is None else f"gamma {row['gamma']}"
    gap = "" if row["tie_gap"] is None else f" ({row['tie_gap']:.2g})"
    return [
        _short(row["draft"]),
        _temperatures(row["temperature"], row["draft_temperature"]),
        policy if row["lossless"] else f"{policy}, lossy",
        f"{row['alpha']:.3f}",
        "-" if row["c"] is None else f"{row['c']:.3f}",
        times("predicted_theorem8"),
        between("predicted_ahead"),
        times("predicted_calibrated"),
        between("measured"),
        "-" if row["error_percent"] is None else f"{row['error_percent']:+.1f} %",
        str(row["target_calls"]),
        {True: "yes", False: f"NO{gap}", None: "-"}[row["identical_to_target"]],
        f"{shares} %",
    ]
