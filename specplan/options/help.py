"""Help pages: --help shows the usual options in one sentence each, --help-all everything."""

import inspect
import re
from itertools import accumulate

import click

SHOWS_ALL = "specplan.shows_all"
MOST_LINES = 4
WIDEST_NAME = 32
# The end of a sentence is no "e.g." and no "et al.".
_END = re.compile(r"(?<=[\w)\]])(?<!\.\w)(?<! al)[.;](?=\s|$)|  \[")
_DEFAULT = re.compile(r"\s\s+\[(?:default: )?([^]]{1,24})\]$")


def write_text(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Writes a command's description: its first paragraph and first examples, or all of it."""
    text = inspect.cleandoc(command.help or "")
    if not ctx.meta.get(SHOWS_ALL):
        first, *others = text.split("\n\n")
        text = "\n\n".join([first, *(_first_of(part) for part in others if "Example" in part)])
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_text(text)


def write_options(
    command: click.Command, ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """Writes options under their headings, one sentence each unless --help-all is given."""
    everything = bool(ctx.meta.get(SHOWS_ALL))
    parts: dict[str, list[tuple[str, str]]] = {}
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record is not None and (everything or not getattr(param, "advanced", False)):
            heading = getattr(param, "heading", None) or "Options"
            parts.setdefault(heading, []).append(record if everything else _line(*record))
    for heading in sorted(parts, key=lambda heading: heading == "Options"):
        with formatter.section(heading):
            formatter.write_dl(parts[heading], col_max=WIDEST_NAME)


def _first_of(examples: str) -> str:
    title, *rest = re.split(r"\n(?=\s+specplan )", examples)
    lines = [0, *accumulate(part.count("\n") + 1 for part in rest)]
    fitting = [part for part, before in zip(rest, lines, strict=False) if before < MOST_LINES]
    return "\n".join([title, *fitting])


def _line(name: str, text: str) -> tuple[str, str]:
    """Returns an option's name, and the first sentence of its help with its default."""
    default = _DEFAULT.search(text)
    after = "" if default is None else f"  [{default[1].partition(';')[0]}]"
    sentence = _END.split(text, maxsplit=1)[0]
    return name, sentence + after


def show_all(ctx: click.Context, _param: click.Parameter, _value: bool) -> None:
    """Prints the help with every option in full, and exits: the callback of --help-all."""
    if not ctx.resilient_parsing:
        ctx.meta[SHOWS_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()
