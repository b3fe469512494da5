"""The readable form of a validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from specplan.reports.output import bounds, folded, table

if TYPE_CHECKING:
    from estimator.validation.row import Row
    from estimator.validation.validation import Validation

LONGEST_NAME = 24
COLUMNS = ["policy", "free", "predicted", "measured [95 %]", "error", "as target"]
MORE_COLUMNS = ["calls", "ahead [95 %]", "tokens/s", "draft/verify/other"]


def row_data(row: Row) -> dict[str, Any]:
    """Returns a row as JSON knows it."""
    return {**asdict(row), "error_percent": row.error_percent}


def rows_table(validation: Validation, *, wide: bool) -> str:
    """Returns the rows of one draft and temperature; wide adds columns beyond 80 characters."""
    rows = [row_data(row) for row in validation.rows]
    first = rows[0]
    c = "-" if first["c"] is None else f"{first['c']:.3f}"
    return "\n".join(
        [
            f"draft {_short(first['draft'])}, temperature "
            f"{_temperatures(first['temperature'], first['draft_temperature'])}: alpha "
            f"{first['alpha']:.3f}, c {c}",
            table(
                [_cells(row) + (_more_cells(row) if wide else []) for row in rows],
                header=COLUMNS + (MORE_COLUMNS if wide else []),
                marked=_best(rows),
            ),
        ]
    )


def summary_lines(
    result: dict[str, Any], validations: Sequence[Validation], prompts: int
) -> str:
    """Returns what all rows were measured on, why Theorem 8 differs, and how good they are."""
    summary = result["summary"]
    tokens = sum(row["tokens"] for row in result["rows"])
    repeats = summary["repeats"]
    timings = "timed once" if repeats == 1 else f"the fastest of each block's {repeats} timings"
    lines = [
        f"Speed-ups over decoding one token at a time; {prompts} prompts, {tokens} tokens in all "
        f"rows, {timings}.",
        '"free": if verifying were free and acceptances i.i.d. The costs here:',
        *(_costs(validation) for validation in validations),
    ]
    if summary["mean_abs_error_percent"] is not None:
        lines.append(
            f"Predicted against measured: {summary['mean_abs_error_percent']:.1f} % off on "
            f"average, {summary['max_abs_error_percent']:.1f} % at most; the baseline against "
            f"itself: {summary['noise_percent']:.1f} %, 95 % of the time within "
            f"{summary['noise_within_percent']:.1f} %."
        )
    if not summary["quiet"]:
        worst = max(summary["noise_percent"], summary["noise_within_percent"])
        lines.append(
            "This machine was not quiet: the baseline's speed differs from itself by up to "
            f"{worst:.0f} %. End other programs, leave a core free (OMP_NUM_THREADS), or raise "
            "--repeats."
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
    return folded("\n".join(lines))


def _best(rows: Sequence[dict[str, Any]]) -> list[int]:
    """Returns the index of the fastest row, if that gains."""
    fastest = max(range(len(rows)), key=lambda index: float(rows[index]["measured"]))
    return [fastest] if rows[fastest]["measured"] > 1 else []


def _costs(validation: Validation) -> str:
    """Returns one line on what Theorem 8 leaves out, in this pair's own numbers."""
    row = validation.rows[-1]
    cost = validation.cost
    longest = max(cost.target_seconds)
    step = cost.verify_seconds(1)
    return (
        f"  {_short(row.draft)}, temperature {row.temperature:g}: target step {1e3 * step:.1f} ms, "
        f"draft step {1e3 * cost.draft_seconds:.2f} ms; verifying drafts of {longest - 1} takes "
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
    """Returns one row's cells, as COLUMNS has them."""
    policy = row["policy"] if row["gamma"] is None else f"gamma {row['gamma']}"
    gap = "" if row["tie_gap"] is None else f" ({row['tie_gap']:.2g})"
    return [
        policy if row["lossless"] else f"{policy}, lossy",
        _times(row["predicted_theorem8"]),
        _times(row["predicted_calibrated"]),
        _between(row, "measured"),
        "-" if row["error_percent"] is None else f"{row['error_percent']:+.1f} %",
        {True: "yes", False: f"NO{gap}", None: "-"}[row["identical_to_target"]],
    ]


def _more_cells(row: dict[str, Any]) -> list[str]:
    """Returns one row's further cells, as MORE_COLUMNS has them."""
    seconds = [row[f"{part}_seconds"] for part in ("draft", "verify", "other")]
    shares = "/".join(f"{100 * part / sum(seconds):.0f}" for part in seconds)
    return [
        str(row["target_calls"]),
        _between(row, "predicted_ahead"),
        f"{row['tokens_per_second']:.1f}",
        f"{shares} %",
    ]


def _times(factor: float | None) -> str:
    return "-" if factor is None else f"{factor:.2f}"


def _between(row: dict[str, Any], name: str) -> str:
    if row[name] is None:
        return "-"
    return f"{_times(row[name])} {bounds(row[f'{name}_low'], row[f'{name}_high'], digits=2)}"
