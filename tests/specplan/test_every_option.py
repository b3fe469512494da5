"""Every option of every command is read by the way that runs, or refused by its name.

The commands are walked as click knows them, with each way that they can be run.
"""

import ast
import importlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, get_type_hints

import click
import pytest
from click.testing import CliRunner

from specplan.main import SUMMARIES, main
from specplan.options.command import (
    Command,
    names_of,
    option_name,
    records_of,
    repeatable,
    selector,
)
from tests.specplan.refusals import assert_refused


def commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yields every command with the words that call it."""
    ctx = click.Context(main)
    for name in SUMMARIES:
        command = main.get_command(ctx, name)
        if isinstance(command, click.Group):
            yield from (((name, own), each) for own, each in command.commands.items())
        elif command is not None:
            yield (name,), command


def options(command: click.Command) -> list[click.Option]:
    return [
        param for param in command.params if isinstance(param, click.Option) and not param.is_eager
    ]


VISITED: set[Any] = set()
PACKAGES = ("engines", "estimator", "specplan", "studies")
COMMANDS = list(commands())
WAYS = [
    (words, command, way)
    for words, command in COMMANDS
    if isinstance(command, Command)
    for way in command.ways
]


def taken(command: Command, way: str) -> set[str]:
    """Returns the names of the options that a way reads."""
    own = {selector(way)} - {None}
    records = records_of(command.ways[way])
    return {str(name) for name in own} | {name for record in records for name in names_of(record)}


def stated(option: click.Option) -> list[str]:
    """Returns words that state an option by some value that it takes."""
    name = option_name(option)
    if option.is_flag:
        return [name]
    if isinstance(option.type, click.Choice):
        return [name, str(option.type.choices[0])]
    numbers = {"gammas": "2", "temperatures": "0", "figure": "drawn.png"}
    return [name, numbers.get(str(option.name), "1")]


def selected(command: click.Command, way: str) -> list[str]:
    """Returns the words that select a way, with what the command cannot do without."""
    words = way.split()
    values = {"--engine": "llama.cpp", "--texts": "log.jsonl", "--server": "http://127.0.0.1:9"}
    words += [values[way]] if way in values else []
    needed = [option for option in options(command) if option.required]
    words += [word for each in needed for word in stated(each)]
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    return words + [__file__ for argument in arguments if argument.required]


@pytest.mark.parametrize(("words", "command"), COMMANDS, ids=str)
def test_an_option_of_one_value_is_refused_where_it_is_said_twice(
    words: tuple[str, ...], command: click.Command
) -> None:
    for option in options(command):
        if not repeatable(option):
            twice = CliRunner().invoke(main, [*words, *stated(option), *stated(option)])
            assert_refused(twice, f"{option_name(option)} must be given once, got 2")


@pytest.mark.parametrize(
    ("words", "command"), {words: command for words, command, _ in WAYS}.items()
)
def test_every_option_that_help_shows_is_read_in_some_way(
    words: tuple[str, ...], command: Command
) -> None:
    read = {name for way in command.ways for name in taken(command, way)}
    assert {str(option.name) for option in options(command)} - read == set()


@pytest.mark.parametrize(("words", "command", "way"), WAYS, ids=str)
def test_every_option_is_read_or_refused_by_name(
    words: tuple[str, ...], command: Command, way: str
) -> None:
    # Options that select another way which reads this one's own are no mistake.
    selecting_others = {
        selector(other)
        for other in command.ways
        if other != way and (way == "" or selector(way) in taken(command, other))
    }
    read = taken(command, way) | selecting_others
    for option in options(command):
        if option.name not in read:
            result = CliRunner().invoke(main, [*words, *selected(command, way), *stated(option)])
            assert_refused(result, option_name(option))


@pytest.mark.parametrize(("words", "command"), COMMANDS)
def test_no_two_options_of_a_command_have_one_name(
    words: tuple[str, ...], command: click.Command
) -> None:
    names = [name for param in command.params for name in (*param.opts, *param.secondary_opts)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("words", "command", "way"), WAYS)
def test_every_setting_of_a_request_is_read_where_it_runs(
    words: tuple[str, ...], command: Command, way: str
) -> None:
    function = command.ways[way]
    load_what_it_imports(function)
    for record in leaves(records_of(function)):
        if "asdict(self)" in inspect.getsource(record):
            continue  # It passes all of its fields on.
        packages = {record.__module__.partition(".")[0], "estimator", "studies"}
        assert {field.name for field in fields(record)} <= read_in(packages)


@pytest.mark.parametrize(("words", "command", "way"), WAYS)
def test_defaults_in_help_are_the_requests_own(
    words: tuple[str, ...], command: Command, way: str
) -> None:
    shown = command.make_context(words[-1], selected(command, way)).params
    required = {option.name for option in options(command) if option.required}
    for record in leaves(records_of(command.ways[way])):
        for field in fields(record):
            own = field.default
            unsaid = own in (MISSING, None) or field.name in required
            if unsaid or shown.get(field.name) is None or (way, field.name) in OF_ITS_OWN:
                continue
            assert shown[field.name] in (own, (own,))  # an option may take several


# BiLD is greedy unless a temperature is given, which help says in words.
OF_ITS_OWN = {("--decoder bild", "temperatures")}


def leaves(records: list[type[Any]]) -> list[type[Any]]:
    """Returns records and those that they hold."""
    found = list(records)
    for record in records:
        held = get_type_hints(record).values()
        found += leaves([part for part in held if isinstance(part, type) and is_dataclass(part)])
    return found


def load_what_it_imports(function: Any) -> None:
    """Imports what a function imports inside, and what the project's functions that it calls do."""
    if function in VISITED:
        return
    VISITED.add(function)
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        called: list[Any] = []
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(str(node.module))
            called = [getattr(module, alias.name, None) for alias in node.names]
        elif isinstance(node, ast.Name):
            called = [function.__globals__.get(node.id)]
        for each in called:
            if inspect.isfunction(each) and each.__module__.split(".")[0] in PACKAGES:
                load_what_it_imports(each)


def read_in(packages: set[str]) -> set[str]:
    """Returns the names of all attributes that the loaded modules of some packages read."""
    loaded = [name for name in sys.modules if name.split(".")[0] in packages]
    return {attribute for name in loaded for attribute in read_by(name)}


@cache
def read_by(module: str) -> frozenset[str]:
    """Returns the names of all attributes that a module's source reads."""
    nodes = ast.walk(ast.parse(inspect.getsource(sys.modules[module])))
    return frozenset(node.attr for node in nodes if isinstance(node, ast.Attribute))


@pytest.mark.parametrize(("words", "command"), COMMANDS, ids=str)
def test_help_fits_a_screen_and_help_all_has_every_option(
    words: tuple[str, ...], command: click.Command
) -> None:
    short = CliRunner().invoke(main, [*words, "--help"]).stdout.splitlines()
    assert len(short) <= 64  # about a screen
    every = CliRunner().invoke(main, [*words, "--help-all"]).stdout
    for option in options(command):
        name = max(option.opts, key=len)
        assert f"{name} " in every.replace("\n", " ").replace(",", " ")
        assert any(f"{name} " in f"{line} " for line in short) or getattr(option, "advanced", False)
    assert not any("…" in line.replace("|P,…", "") for line in short)  # nothing is cut
    # Examples may be long.
    assert max(len(line) for line in short if line.startswith("  -")) <= 80
