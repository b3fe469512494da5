"""Where an answer goes: text or JSON, a file (`-o`), a page (`--page`), a picture (`--plot`)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import click

from specplan.options.declared import declared, option, rare
from specplan.reports.output import STDOUT, print_json, writable

# Options that say where an answer goes, and whether each takes a value.
_PLACES = {"--json": False, "-o": True, "--output": True, "--page": True, "--plot": True}
_PASSWORD = re.compile(r"(?<=://)[^/@\s]+@")


@dataclass(frozen=True)
class Printed:
    """The form of a printed result: as JSON or as text.

    as_json: Print one JSON object.
    """

    as_json: bool = option("--json", is_flag=True, default=False)

    def stated(self, data: object) -> object:
        """Returns the JSON object that the command writes to a file."""
        return data

    def draw(self, data: Callable[[], Any], whole: Callable[[], Any]) -> None:
        """Writes further files of the answer: none, unless it is `Pictured`."""


@dataclass(frozen=True)
class Written(Printed):
    """The form of a printed result, and a JSON file for it.

    output: Also write the JSON object to this file.
    """

    output: Path | None = option(
        "-o", "--output", type=click.Path(path_type=Path), callback=writable
    )


def _page_file(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    """Returns a page's path unchanged; raises a usage error unless it ends in .html."""
    if value.suffix.lower() not in (".html", ".htm"):
        raise click.BadParameter(f"must end in .html, got {value.name}")
    return writable(ctx, param, value)


def drawable(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    """Returns a picture's path unchanged; raises a usage error if none can be drawn there."""
    from figures.registry import IMAGE_SUFFIXES

    if value.suffix.lower() not in IMAGE_SUFFIXES:
        raise click.BadParameter(f"must end in {' or '.join(IMAGE_SUFFIXES)}, got {value.name}")
    return writable(ctx, param, value)


@dataclass(frozen=True)
class Paged:
    """A page of an answer.

    page: Also write a page of the answer.
    """

    page: Path | None = option(callback=_page_file, metavar="FILE.html")


@dataclass(frozen=True)
class Pictured(Printed, Paged):
    """The form of a printed result, a page of it and a picture of it.

    plot: Also draw the answer into this file: .png, .svg or .pdf.
    """

    plot: Path | None = rare(callback=drawable, metavar="FILE")

    def stated(self, data: object) -> object:
        """Returns the JSON object with the command that repeats it."""
        command = stated_command()
        if command is None or not isinstance(data, Mapping):
            return data
        return {**data, "command": command}

    def draw(self, data: Callable[[], Any], whole: Callable[[], Any]) -> None:
        """Writes the page and the picture of a JSON object, if the user stated files for them.

        whole: returns the JSON object with what only pages show, such as the grid of sliders.
        """
        if self.page is None and self.plot is None:
            return
        from specplan.reports.page.shown import section_of, write_page, write_plot

        section = section_of(self.stated((data if self.page is None else whole)()))
        for write, path in ((write_page, self.page), (write_plot, self.plot)):
            if path is not None:
                write(section, path)
                click.echo(f"Wrote {path}", err=True)


def answer(
    data: Callable[[], Any],
    text: Callable[[], str],
    *,
    form: Printed,
    further: Callable[[], Mapping[str, object]] = dict,
) -> None:
    """Prints a command's result in the requested form, then writes it, if requested, to files.

    further: returns what only files and pages have, by key: "grid", which a page's sliders show,
      and "flags". Values of None are left out.
    """
    output = form.output if isinstance(form, Written) else None

    @cache
    def whole() -> Any:
        more = {key: value for key, value in further().items() if value is not None}
        return {**data(), **more} if more else data()

    if form.as_json or output == STDOUT:
        print_json(data())
    else:
        click.echo(text())
    if output not in (None, STDOUT):
        from estimator.writing import write_json

        write_json(form.stated(whole()), output)
    form.draw(data, whole)


json_option = declared(Printed)["as_json"]


def output_option(**settings: Any) -> Any:
    """Returns the option -o for a command's file; settings override its arguments of `option`."""
    settings = {"metavar": "FILE", "callback": writable, **settings}
    return option("-o", "--output", type=click.Path(path_type=Path), **settings)


def stated_command() -> str | None:
    """Returns the running command as typed, without passwords and without where its answer goes.

    Paths inside the current folder are relative to it. None if no command runs.
    """
    ctx = click.get_current_context(silent=True)
    words = [] if ctx is None else list(ctx.meta.get("specplan.words", ()))
    if ctx is None or not words:
        return None
    kept, left_out = [ctx.info_name or ""], False
    for word in words:
        if left_out:
            left_out = False
            continue
        name, given, _ = word.partition("=")
        if name in _PLACES:
            left_out = _PLACES[name] and not given
        else:
            kept.append(_PASSWORD.sub("", word.replace(f"{Path.cwd()}/", "")))
    return shlex.join(["specplan", *kept])
