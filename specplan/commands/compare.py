"""`specplan compare`: two profiles or validations of the same prompts, as text, CSV or LaTeX."""

import csv
import io
from pathlib import Path
from typing import Any

import click

from estimator.comparison import Comparison, Difference, compare, read_measured
from estimator.profiles.profile import Profile
from estimator.writing import json_text, write_whole
from simulator.numerics.intervals import percent
from specplan.api.planning import exported
from specplan.options.answer import Pictured, output_option
from specplan.options.command import Command
from specplan.options.declared import option, takes
from specplan.reports.table import Column, bounds, folded, table
from specplan.reports.verdict import comparison_json, verdict_of

_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
        "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "γ": r"$\gamma$", "α": r"$\alpha$",
    }
)  # fmt: skip


class CompareOptions:
    """Options of the output.

    form: Format of the output.
    as_json: The same as --format json.
    """

    form = option("--format", type=click.Choice(["table", "json", "csv", "latex"]), default="table")
    output = output_option(help="Write the comparison into this file instead of printing it.")
    as_json: bool = option("--json")


@click.command("compare", cls=Command)
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@takes(CompareOptions, Pictured)
def compare_command(
    a: Path, b: Path, *, form: str, output: Path | None, as_json: bool, **pictures: Any
) -> None:
    """Compare two profiles, or two validations, of the same prompts.

    Differences are B minus A, with 90 % intervals over prompts. They are paired: each prompt is
    left out of both files at once, so a prompt that is easy for both does not widen an interval.

    \b
    Example:
      specplan measure --draft embedded -o a.json
      specplan measure --draft lookup -o b.json
      specplan compare a.json b.json
      specplan compare a.json b.json --format latex -o table.tex
    """
    if as_json and form not in ("table", "json"):
        raise ValueError(f"`json` cannot be given with `format` {form}")
    files = read_measured(a), read_measured(b)
    comparison = compare(files, (a, b))
    shown = Pictured(as_json=as_json, **pictures)
    if as_json or form == "json":
        data = comparison_json(comparison)
        text = f"{json_text(data if output is None else shown.stated(data))}\n"
    else:
        text = {"table": _text, "csv": _csv, "latex": _latex}[form](comparison)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_whole(output, text.encode())
        click.echo(f"Wrote {output}")
    sides = {f"{side} = {draft.draft}": file for side, draft, file in
             zip("AB", (comparison.a, comparison.b), files, strict=True)}  # fmt: skip

    def whole() -> dict[str, Any]:
        profiles = {side: file for side, file in sides.items() if isinstance(file, Profile)}
        flags = {f"{side}, {server}": text for side, file in profiles.items()
                 for server, text in exported(file).items()}  # fmt: skip
        return {**comparison_json(comparison), "flags": flags}

    shown.draw(lambda: comparison_json(comparison), whole)


def _text(comparison: Comparison) -> str:
    def doubt(difference: Difference) -> str:
        if difference.low is None:
            return "one prompt"
        return "" if difference.distinguishable else "not decided"

    columns: list[Column[Difference]] = [
        ("", "{number}"),
        ("A", "{a:.4f}"),
        ("B", "{b:.4f}"),
        ("B - A", lambda row: f"{row.difference:+.4f} {bounds(row.low, row.high, '.4f')}"),
    ]
    sides = (
        f"{name}: {side.draft} for {side.target}, {side.tokens} tokens ({side.file})"
        for name, side in (("A", comparison.a), ("B", comparison.b))
    )
    paired = f"{_prompts(comparison)} in both; {percent()} intervals are over prompts, paired."
    opening = folded(verdict_of(comparison))
    return "\n".join(
        [opening, "", *sides, paired, "", table(comparison.differences, columns, note=doubt), ""]
    )


def _csv(comparison: Comparison) -> str:
    """Returns a line for each compared number, with its setup and counts."""
    data, stream = comparison_json(comparison), io.StringIO()
    setup = {"prompts": comparison.a.prompts, "prompts_hash": comparison.prompts_hash}
    for side in "ab":
        setup |= {f"{name}_{side}": data[side][name] for name in ("target", "draft", "tokens")}
    rows = [{**difference, **setup} for difference in data["differences"]]
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def _latex(comparison: Comparison) -> str:
    """Returns a LaTeX table (booktabs) with a caption that states the setup."""
    level, rows = percent().replace(" %", r"\,\%"), []
    for row in comparison.differences:
        name = row.number.translate(_ESCAPES).replace("gamma", r"$\gamma$")
        name = {"alpha": r"$\alpha$", "c": "$c$"}.get(name, name)
        between = "--" if row.low is None else f"$[{row.low:+.3f}, {row.high:+.3f}]$"
        numbers = f"{row.a:.3f} & {row.b:.3f} & ${row.difference:+.3f}$"
        rows.append(rf"{name} & {numbers} & {between} \\")
    sides = " ".join(
        f"{name}: {side.draft} for {side.target} ({side.tokens} tokens).".translate(_ESCAPES)
        for name, side in (("A", comparison.a), ("B", comparison.b))
    )
    paired = f"{_prompts(comparison)} in both; {level} intervals over prompts, paired."
    lines = [
        r"\begin{table}", r"\begin{tabular}{lrrrr}", r"\toprule",
        rf" & A & B & B $-$ A & {level} interval \\", r"\midrule", *rows, r"\bottomrule",
        r"\end{tabular}", rf"\caption{{{sides} {paired}}}", r"\end{table}", "",
    ]  # fmt: skip
    return "\n".join(lines)


def _prompts(comparison: Comparison) -> str:
    number = comparison.a.prompts
    return f"The same {number} prompt{'' if number == 1 else 's'}"
