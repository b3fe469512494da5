"""Makes a page for each command from click's help and its part of docs/commands.md."""

import re
from html import escape
from inspect import cleandoc

import click

from specplan.main import SUMMARIES, main

# The parts of docs/commands.md: one for all commands, then one for each.
_PART = re.compile(r"(?m)^## specplan (\w+)\n")


def command_pages(document: str) -> dict[str, str]:
    """Returns each page's text by its name: "index", and the commands, each with its part of
    docs/commands.md.
    """
    shared, *named = _PART.split(document)
    parts = dict(zip(named[::2], named[1::2], strict=True))
    if missing := [name for name in SUMMARIES if name not in parts]:
        raise ValueError(f"docs/commands.md must have a part for each command, but not {missing}")
    ctx = click.Context(main, info_name="specplan")
    pages = {"index": _moved(shared)}
    for name in SUMMARIES:
        command = main.get_command(ctx, name)
        assert command is not None
        known = _explained(command, ctx, name)
        pages[name] = f"# specplan {name}\n\n{known}\n\n## More\n\n{_moved(parts[name])}"
    return pages


def _moved(text: str) -> str:
    """Returns a part of docs/commands.md with its links as they are from docs/commands/."""
    text = re.sub(r"\]\((?!https?:|#)", "](../", text)
    return re.sub(r"\]\(#specplan-(\w+)\)", r"](\1.md)", text)


def _explained(command: click.Command, parent: click.Context, name: str) -> str:
    """Returns usage, description and options of a command, and of each command in a group."""
    ctx = click.Context(command, info_name=name, parent=parent, show_default=True)
    usage = "    " + command.get_usage(ctx).removeprefix("Usage: ").replace("\n", "\n    ")
    told = "\n\n".join([usage, *map(_paragraph, cleandoc(command.help or "").split("\n\n"))])
    if isinstance(command, click.Group):
        sections = [
            f"## specplan {name} {part}\n\n{_explained(command.commands[part], ctx, part)}"
            for part in command.list_commands(ctx)
        ]
        return "\n\n".join([told, *sections])
    records = [param.get_help_record(ctx) for param in command.get_params(ctx)]
    rows = "".join(_row(*record) for record in records if record is not None)
    return f'{told}\n\n## Options\n\n<table class="options"><tbody>\n{rows}</tbody></table>'


def _row(names: str, help: str) -> str:
    # Names of several words, such as --export vllm|sglang, may be broken at their bars.
    listed = escape(names).replace("|", "|<wbr>")
    return f"<tr><td><code>{listed}</code></td><td>{escape(help)}</td></tr>\n"


def _paragraph(text: str) -> str:
    r"""Returns a paragraph of a help text; after \b its lines are kept as they are."""
    if not text.startswith("\b"):
        return escape(" ".join(text.split()), quote=False).replace("*", r"\*")
    lines = text.removeprefix("\b").strip("\n").split("\n")
    if lines[0].endswith(":"):
        return lines[0] + "\n\n" + "\n".join("    " + line.strip() for line in lines[1:])
    return "\n".join("    " + line for line in lines)
