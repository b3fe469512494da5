"""`specplan compare`: two profiles or validations of the same prompts."""

from pathlib import Path

import click

from specplan.options.command import Command, option, takes
from specplan.options.values import output_option

FORMATS = ("table", "json", "csv", "latex")


class CompareOptions:
    """Options of the answer's form and file.

    form: Format of the output.
    as_json: The same as --format json.
    """

    form = option("--format", type=click.Choice(FORMATS), default="table")
    output = output_option("Write the comparison into this file instead of printing it.")
    as_json: bool = option("--json")


@click.command("compare", cls=Command)
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@takes(CompareOptions)
def compare_command(a: Path, b: Path, form: str, output: Path | None, as_json: bool) -> None:
    """Compare two profiles, or two validations, of the same prompts.

    Differences are B less A, with 90 % intervals over prompts. They are paired: each prompt is
    left out of both at once, so what makes a prompt easy for both is no difference.

    \b
    Example:
      specplan measure --draft embedded -o a.json
      specplan measure --draft lookup -o b.json
      specplan compare a.json b.json
      specplan compare a.json b.json --format latex -o table.tex
    """
    from estimator.comparison import compare_files
    from estimator.writing import json_text, write_whole
    from specplan.reports.compare import compare_csv, compare_json, compare_latex, compare_text

    comparison = compare_files(a, b)
    if as_json or form == "json":
        text = f"{json_text(compare_json(comparison))}\n"
    else:
        made = {"table": compare_text, "csv": compare_csv, "latex": compare_latex}[form]
        text = made(comparison)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_whole(output, text.encode())
        click.echo(f"Wrote {output}")
