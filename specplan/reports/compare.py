"""A comparison as text, as CSV and as a LaTeX table, each with setup and counts."""

import csv
import io
from dataclasses import asdict
from typing import Any

from estimator.comparison import Comparison, Difference
from simulator.numerics.intervals import CONFIDENCE, percent
from specplan.reports.table import Column, bounds, table

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
        "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "γ": r"$\gamma$", "α": r"$\alpha$",
    }
)  # fmt: skip
_NUMBERS = {"alpha": r"$\alpha$", "c": "$c$"}


def compare_json(comparison: Comparison) -> dict[str, Any]:
    return {
        **asdict(comparison),
        "confidence": CONFIDENCE,
        "differences": [
            {**asdict(each), "told_apart": each.distinguishable} for each in comparison.differences
        ],
    }


def compare_text(comparison: Comparison) -> str:
    """Returns a comparison as text: which drafts A and B are, and a line for each number."""

    def verdict(each: Difference) -> str:
        if each.low is None:
            return "one prompt"
        return "" if each.distinguishable else "not distinguishable"

    columns: list[Column[Difference]] = [
        ("", "{number}"),
        ("A", "{a:.4f}"),
        ("B", "{b:.4f}"),
        ("B - A", lambda each: f"{each.difference:+.4f} {bounds(each.low, each.high, '.4f')}"),
    ]
    sides = (
        f"{name}: {side.draft} for {side.target}, {side.tokens} tokens ({side.file})"
        for name, side in (("A", comparison.a), ("B", comparison.b))
    )
    paired = f"The same {_prompts(comparison)} in both; {percent()} intervals are over prompts, "
    rows = table(comparison.differences, columns, note=verdict)
    return "\n".join([*sides, f"{paired}paired.", "", rows, ""])


def compare_csv(comparison: Comparison) -> str:
    """Returns a comparison as CSV: a line for each compared number, with its setup and counts."""
    stream, names = io.StringIO(), ("target", "draft", "tokens")
    writer = csv.writer(stream, lineterminator="\n")
    numbers = ["number", "a", "b", "difference", "low", "high", "told_apart"]
    own = [f"{name}_{side}" for side in "ab" for name in names]
    writer.writerow([*numbers, "prompts", "prompts_hash", *own])
    a, b = comparison.a, comparison.b
    setup = [a.prompts, comparison.prompts_hash]
    setup += [getattr(side, name) for side in (a, b) for name in names]
    for each in comparison.differences:
        values = (each.a, each.b, each.difference, each.low, each.high)
        cells = ["" if value is None else repr(value) for value in values]
        writer.writerow([each.number, *cells, each.distinguishable, *setup])
    return stream.getvalue()


def compare_latex(comparison: Comparison) -> str:
    """Returns a comparison as a LaTeX table (booktabs) with a caption that states the setup."""
    level = percent().replace(" %", r"\,\%")
    rows = []
    for each in comparison.differences:
        cells = (
            _NUMBERS.get(each.number, _escaped(each.number).replace("gamma", r"$\gamma$")),
            f"{each.a:.3f}",
            f"{each.b:.3f}",
            f"${each.difference:+.3f}$",
            "--" if each.low is None else f"$[{each.low:+.3f}, {each.high:+.3f}]$",
        )
        rows.append(rf"{' & '.join(cells)} \\")
    sides = " ".join(
        f"{name}: {_escaped(side.draft)} for {_escaped(side.target)} ({side.tokens} tokens)."
        for name, side in (("A", comparison.a), ("B", comparison.b))
    )
    paired = f"The same {_prompts(comparison)} in both; {level} intervals over prompts, paired."
    return "\n".join(
        [
            r"\begin{table}",
            r"\begin{tabular}{lrrrr}",
            r"\toprule",
            rf" & A & B & B $-$ A & {level} interval \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{sides} {paired}}}",
            r"\end{table}",
            "",
        ]
    )


def _prompts(comparison: Comparison) -> str:
    number = comparison.a.prompts
    return f"{number} prompt" if number == 1 else f"{number} prompts"


def _escaped(text: str) -> str:
    return text.translate(_LATEX)
