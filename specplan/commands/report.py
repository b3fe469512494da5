"""`specplan report`: writes one page that shows all measurements."""

from dataclasses import replace
from pathlib import Path

import click

from specplan.options.answer import json_option, output_option, stated_command
from specplan.options.command import Command
from specplan.options.declared import option, takes
from specplan.reports.output import print_json


class ReportOptions:
    """Options of the page.

    title: Title of the page.  [default: what the files are of]
    """

    output = output_option(help="Where to write the page.", required=True)
    title = option()
    as_json = json_option


@click.command("report", cls=Command)
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@takes(ReportOptions)
def report_command(files: tuple[Path, ...], output: Path, title: str | None, as_json: bool) -> None:
    """Show in one self-contained page what commands wrote.

    Takes any JSON that a command writes, one file or several, in any order: profiles of `specplan
    measure`, and what `specplan plan`, `tune`, `observe`, `traffic`, `size`, `compare`, `validate`
    and `tree` print with --json or write with -o. Each answer has its advice and odds, pictures, a
    table, the flags, and its inputs; profiles share one answer, the best draft first. Sliders show
    the numbers of `specplan plan` for other values.

    \b
    Example:
      specplan report small.json tiny.json validation.json traffic.json -o report.html
      specplan report plan.json tuned.json -o report.html
    """
    import jinja2  # noqa: F401  # before anything is read

    from estimator.writing import write_whole
    from specplan.api.planning import exported
    from specplan.reports.page.inputs import read_inputs
    from specplan.reports.page.page import page, page_json, sections

    inputs = read_inputs(files)
    made = [
        replace(section, command=section.command or stated_command())
        for section in sections(inputs, exported)
    ]
    if title is None:
        title = "Report" if len(made) > 1 else made[0].title
        if inputs.profiles:
            title = f"Speculative decoding of {inputs.profiles[0].profile.setup.target}"
    write_whole(output, page(made, title=title).encode())
    if as_json:
        print_json({"output": output, **page_json(inputs, made, exported)})
    else:
        click.echo(f"Wrote {output}")
