"""`specplan report`: writes one page that shows all measurements."""

from pathlib import Path

import click

from specplan.options.command import Command
from specplan.options.declared import option, takes
from specplan.options.values import json_option, output_option
from specplan.reports.output import print_json


class ReportOptions:
    """Options of the page.

    title: Title of the page.  [default: the target's name]
    """

    output = output_option("Where to write the page.", required=True)
    title = option()
    as_json = json_option


@click.command("report", cls=Command)
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@takes(ReportOptions)
def report_command(files: tuple[Path, ...], output: Path, title: str | None, as_json: bool) -> None:
    """Show in one self-contained page what was measured of drafts.

    Takes profiles of `specplan measure`, what `specplan validate --json` printed and what
    `specplan traffic -o` and `specplan tune -o` wrote, in any order: which draft, which gamma,
    what gain and how sure first, then acceptance, costs, predicted against measured, rates of
    requests, runs of tunings, where the time goes, and an explorer with the numbers of `specplan
    plan`.

    \b
    Example:
      specplan report small.json tiny.json validation.json traffic.json -o report.html
      specplan report small.json tuned.json -o report.html
    """
    import jinja2  # noqa: F401  # before anything is read

    from estimator.writing import write_whole
    from specplan.api.planning import exported
    from specplan.reports.page.inputs import read_inputs
    from specplan.reports.page.page import page, page_json

    inputs = read_inputs(files)
    if title is None:
        title = f"Speculative decoding of {inputs.profiles[0].profile.setup.target}"
    write_whole(output, page(inputs, title=title, exported=exported).encode())
    if as_json:
        print_json({"output": output, **page_json(inputs, exported)})
    else:
        click.echo(f"Wrote {output}")
