"""Commands whose options are each given once, and read by a record or refused by name.

A command can run in several ways, such as `validate` on the own decoder, with BiLD or on an engine.
Each way is one function, decorated with `reads`. Its arguments are records: dataclasses whose
fields have the names of the command's options.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from pkgutil import resolve_name
from typing import Any, get_type_hints

import click
from click.core import ParameterSource

from specplan.options.help import show_all, write_options, write_text
from specplan.reports.output import warn

Way = Callable[..., None]


class Option(click.Option):
    """An option with its place in the help. Its callback only runs on values that users state."""

    def __init__(
        self,
        *arguments: Any,
        advanced: bool = False,
        heading: str | None = None,
        callback: Callable[..., Any] | None = None,
        **settings: Any,
    ) -> None:
        def stated(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
            unstated = value is False or value in (None, ())
            return value if callback is None or unstated else callback(ctx, param, value)

        super().__init__(*arguments, callback=callback and stated, **settings)
        self.advanced, self.heading = advanced, heading


HELP_ALL = Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_all,
    help="Show every option, and each in full.",
)


class Command(click.Command):
    """A command whose options are each given once, and read or rejected by name.

    ways: functions that run the command, each by the option that selects it ("--engine",
      "--decoder bild"; "" for the default). The first selected function runs. The command's own
      function only has the help. None: the command's own function runs.
    """

    def __init__(self, *arguments: Any, ways: Mapping[str, Way] | None = None, **given: Any):
        super().__init__(*arguments, **given)
        own: Any = {"": self.callback} if hasattr(self.callback, "records") else {}
        self.ways: Mapping[str, Way] = own if ways is None else ways

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        for param, count in Counter(order).items():
            if count > 1 and isinstance(param, click.Option) and not repeatable(param):
                raise click.UsageError(f"{option_name(param)} must be given once, got {count}", ctx)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), HELP_ALL]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_text(self, ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_options(self.get_params(ctx), ctx, formatter)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command's variant that the options select; prints notices as warnings."""
        from estimator.progress import Notice

        ways = ways_of(self)
        with warnings.catch_warnings():
            others = warnings.showwarning

            def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
                if issubclass(category, Notice):
                    warn(str(message))
                else:
                    others(message, category, *where)

            warnings.simplefilter("always", Notice)
            warnings.showwarning = show  # type: ignore[assignment]
            if not ways:
                return super().invoke(ctx)
            way = next(way for way in ways if selects(way, ctx))
            return ways[way](*fill(ctx, records_of(ways[way]), way=way))


def repeatable(option: click.Option) -> bool:
    """Returns whether an option may be given several times."""
    return option.multiple or option.count or (option.is_flag and not option.secondary_opts)


def option_name(param: click.Parameter) -> str:
    """Returns a parameter's name on the command line: an option's long form, an argument's name."""
    if isinstance(param, click.Option):
        return next((text for text in param.opts if text.startswith("--")), param.opts[0])
    return str(param.name)


def fill(ctx: click.Context, records: Sequence[type[Any]], *, way: str = "") -> list[Any]:
    """Returns records with the values of a command's options; refuses options that none reads.

    A record is a dataclass whose fields are named like options, or are records themselves. An
    option that is not stated keeps the field's default. way: the option that selects the records.
    """
    read = {name for record in records for name in names_of(record)} | {selector(way)}
    for param in ctx.command.params:
        if param.name not in read and is_stated(ctx, param.name):
            raise click.UsageError(_refusal(ctx, param, way), ctx)
    return [_filled(ctx, record) for record in records]


def names_of(record: type[Any]) -> set[str]:
    """Returns the names of all options that a record reads."""
    kinds: dict[str, Any] = get_type_hints(record)
    names: set[str] = set()
    for each in fields(record):
        kind = kinds[each.name]
        names |= names_of(kind) if _is_record(kind) else {each.name}
    return names


def is_stated(ctx: click.Context, name: str | None) -> bool:
    """Returns whether the user stated an option, even with its default value."""
    source = ctx.get_parameter_source(str(name))
    return source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


def ways_of(command: click.Command) -> Mapping[str, Way]:
    return command.ways if isinstance(command, Command) else {}


def reads(*records: str | type[Any]) -> Callable[[Way], Way]:
    """Returns a decorator for a function that runs a command; it declares the function's records.

    records: classes of options, or "module:class" of a class to import when the function runs.
    """

    def decorate(way: Way) -> Way:
        way.records = records  # type: ignore[attr-defined]
        return way

    return decorate


def records_of(way: Way) -> list[type[Any]]:
    """Returns the classes of options that a function with `reads` takes, in order."""
    records: Sequence[str | type[Any]] = way.records  # type: ignore[attr-defined]
    return [resolve_name(each) if isinstance(each, str) else each for each in records]


def selector(way: str) -> str | None:
    """Returns the name of the option that selects a way to run; None for the default way."""
    return way.partition(" ")[0].removeprefix("--").replace("-", "_") or None


def selects(way: str, ctx: click.Context) -> bool:
    """Returns whether the parsed options select this way to run the command."""
    name, value = selector(way), way.partition(" ")[2]
    if name is None:
        return True
    return ctx.params[name] == value if value else ctx.params[name] is not None


def _filled(ctx: click.Context, record: type[Any]) -> Any:
    kinds: dict[str, Any] = get_type_hints(record)
    values = {}
    for field in fields(record):
        name, kind = field.name, kinds[field.name]
        required = field.default is MISSING and field.default_factory is MISSING
        if _is_record(kind):
            values[name] = _filled(ctx, kind)
        elif name in ctx.params and (required or is_stated(ctx, name)):
            values[name] = ctx.params[name]
    return record(**values)


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and is_dataclass(kind)


def _refusal(ctx: click.Context, param: click.Parameter, way: str) -> str:
    """Returns why an option cannot be given here, and which other options it needs."""
    name, ways = option_name(param), ways_of(ctx.command)
    others = [
        other
        for other in ways
        if other != way and param.name in set().union(*map(names_of, records_of(ways[other])))
    ]
    if others and not is_stated(ctx, selector(way)):
        return f"{name} needs {' or '.join(others)}"
    return f"{name} cannot be given with {way or ctx.command.name}"
