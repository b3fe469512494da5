"""A comparison as text, as CSV and as a LaTeX table, each with setup and counts."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from simulator.numerics.intervals import CONFIDENCE, percent
from specplan.reports.table import Column, bounds, table

if TYPE_CHECKING:
    from estimator.comparison import Comparison, Difference, Side

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
        "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "γ": r"$\gamma$", "α": r"$\alpha$",
    }
)  # fmt: skip
_NUMBERS = {"alpha": r"$\alpha$", "c": "$c$"}
_ESCAPED_LEVEL = percent().replace(" %", r"\,\%")


def compare_json(comparison: Comparison) -> dict[str, Any]:
    return {
        **asdict(comparison),
        "confidence": CONFIDENCE,
        "differences": [
            {**asdict(each), "told_apart": each.distinguishable} for each in comparison.differences
        ],
    }


def compare_text(comparison: Comparison) -> str:
    """Returns the readable form: the names of A and B, and a line for each number."""
    return "\n".join(
        [
            _said("A", comparison.a),
            _said("B", comparison.b),
            f"The same {_counted(comparison.a.prompts, 'prompt')} in both; {percent()} intervals "
            "are over prompts, paired.",
            "",
            table(comparison.differences, _COLUMNS, note=_verdict),
            "",
        ]
    )


def compare_csv(comparison: Comparison) -> str:
    """Returns the CSV form: a line for each number, with setup and counts."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(
        ["number", "a", "b", "difference", "low", "high", "told_apart", "prompts", "prompts_hash",
         "target_a", "draft_a", "tokens_a", "target_b", "draft_b", "tokens_b"]
    )  # fmt: skip
    a, b = comparison.a, comparison.b
    for each in comparison.differences:
        low, high = ("" if end is None else repr(end) for end in (each.low, each.high))
        writer.writerow(
            [each.number, repr(each.a), repr(each.b), repr(each.difference), low, high,
             each.distinguishable, a.prompts, comparison.prompts_hash, a.target, a.draft, a.tokens,
             b.target, b.draft, b.tokens]
        )  # fmt: skip
    return stream.getvalue()


def compare_latex(comparison: Comparison) -> str:
    """Returns a table for a paper (booktabs) with a caption that states the measurement."""
    rows = [
        " & ".join(
            (
                _NUMBERS.get(each.number, _escaped(each.number).replace("gamma", r"$\gamma$")),
                f"{each.a:.3f}",
                f"{each.b:.3f}",
                f"${each.difference:+.3f}$",
                "--" if each.low is None else f"$[{each.low:+.3f}, {each.high:+.3f}]$",
            )
        )
        + r" \\"
        for each in comparison.differences
    ]
    a, b = comparison.a, comparison.b
    caption = (
        f"A: {_escaped(a.draft)} for {_escaped(a.target)} ({a.tokens} tokens). "
        f"B: {_escaped(b.draft)} for {_escaped(b.target)} ({b.tokens} tokens). "
        f"The same {_counted(a.prompts, 'prompt')} in both; {_ESCAPED_LEVEL} intervals over "
        "prompts, paired."
    )
    return "\n".join(
        [
            r"\begin{table}",
            r"\begin{tabular}{lrrrr}",
            r"\toprule",
            rf" & A & B & B $-$ A & {_ESCAPED_LEVEL} interval \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{caption}}}",
            r"\end{table}",
            "",
        ]
    )


def _verdict(each: Difference) -> str:
    if each.low is None:
        return "one prompt"
    return "" if each.distinguishable else "not distinguishable"


def _said(name: str, side: Side) -> str:
    return f"{name}: {side.draft} for {side.target}, {side.tokens} tokens ({side.file})"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _escaped(text: str) -> str:
    return text.translate(_LATEX)


_COLUMNS: list[Column[Difference]] = [
    ("", "{number}"),
    ("A", "{a:.4f}"),
    ("B", "{b:.4f}"),
    ("B - A", lambda each: f"{each.difference:+.4f} {bounds(each.low, each.high, '.4f')}"),
]
