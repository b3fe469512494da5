"""Commands whose options are fields of classes: each stated option is read, or refused by name."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from types import MappingProxyType
from typing import Any, get_type_hints

import click
from click.core import ParameterSource

from specplan.options.declared import HELP_ALL
from specplan.options.help import write_options, write_text
from specplan.reports.output import announced, print_note, warn

Way = Callable[..., None]
# Options that have another name than the argument of Python's functions.
_ARGUMENTS = {"profile_path": "profile"}


class Command(click.Command):
    """A command that rejects an option that is given twice or that the selected way does not read.

    instead: hints for options that users expect here but the command lacks, by option.
    ways: functions that run the command, by the option that selects them ("--engine", "--decoder
      bild"; "" for the default). The first selected function runs. Its arguments are records:
      dataclasses whose fields have the names of options. Without ways, the command's own function
      runs.
    """

    format_help_text, format_options = write_text, write_options

    def __init__(
        self,
        *arguments: Any,
        ways: Mapping[str, Way] | None = None,
        instead: Mapping[str, str] = MappingProxyType({}),
        **given: Any,
    ):
        super().__init__(*arguments, **given)
        self.instead = instead
        has_records = hasattr(self.callback, "records")
        self.ways: Mapping[str, Any] = ways or ({"": self.callback} if has_records else {})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _refuse_spaces(args, ctx)
        ctx.meta["specplan.words"] = tuple(args)
        try:
            _, further, order = self.make_parser(ctx).parse_args(list(args))
            ctx.meta["specplan.further"] = further
        except click.NoSuchOption as error:
            raise self._unknown(error, ctx) from None
        for param, count in Counter(order).items():
            if count > 1 and isinstance(param, click.Option) and not repeatable(param):
                raise click.UsageError(f"{option_name(param)} must be given once, got {count}", ctx)
        return super().parse_args(ctx, args)

    def _unknown(self, error: click.NoSuchOption, ctx: click.Context) -> click.UsageError:
        """Returns the error for an option that the command lacks, with what is meant, if known."""
        name = error.option_name
        if name in self.instead:
            return click.UsageError(f"No such option {name!r}: {self.instead[name]}", ctx)
        # Only what begins like --help is meant to be --help.
        about_help = name.startswith("--h")
        near = [e for e in error.possibilities or () if e.startswith("--help") == about_help]
        return click.NoSuchOption(name, possibilities=near if about_help else near[:1], ctx=ctx)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), HELP_ALL]

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the function in `ways` that the options select; prints a `Notice` as a warning."""
        from estimator.progress import Notice, Remark, heard

        def show(message: str, category: type[Notice]) -> None:
            (print_note if issubclass(category, Remark) else warn)(flagged(message, ctx))

        with heard(show), announced(ctx.info_name or ""):
            try:
                if "trust_remote_code" in ctx.params:  # it runs models
                    from specplan.options.early import refuse_early

                    refuse_early(ctx.params)
                if not self.ways:
                    return super().invoke(ctx)
                way, run = next(way for way in self.ways.items() if selects(way[0], ctx))
                return run(*fill(ctx, records_of(run), way=way))
            except ValueError as error:  # it names the arguments of Python's functions
                raise ValueError(flagged(str(error), ctx)) from error


def _refuse_spaces(args: Sequence[str], ctx: click.Context) -> None:
    """Raises a usage error for `--run gamma=0 tpot=7`, whose keys a space separates."""
    for option, first, second in zip(args, args[1:], args[2:], strict=False):
        if option == "--run" and re.fullmatch(r"\w+=[^,]*", second):
            joined = f"{first.rstrip(',')},{second}"
            raise click.UsageError(f"Keys of --run have commas and no spaces: {joined}", ctx)


def repeatable(option: click.Option) -> bool:
    """Returns whether an option may be given several times."""
    return option.multiple or option.count or (option.is_flag and not option.secondary_opts)


def option_name(param: click.Parameter) -> str:
    """Returns an option's long form, such as --gamma, or an argument's name."""
    return next((text for text in param.opts if text.startswith("--")), param.opts[0])


def flagged(message: str, ctx: click.Context | None) -> str:
    """Returns a message of a lower layer, in which each `argument` is the option that states it."""
    params = [] if ctx is None else ctx.command.params

    def flag(match: re.Match[str]) -> str:
        name, long = match[1], f"--{match[1].replace('_', '-')}"
        for param in params:
            if name in (param.name, _ARGUMENTS.get(str(param.name))) or long in param.opts:
                return option_name(param)
        return match[0]

    return re.sub(r"`(\w+)`", flag, message)


def is_stated(ctx: click.Context, name: str | None) -> bool:
    """Returns whether the user stated an option, even with its default value."""
    source = ctx.get_parameter_source(str(name))
    return source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


def reads(*records: type[Any]) -> Callable[[Way], Way]:
    """Returns a decorator that stores a function's classes of options, in argument order."""

    def decorate(way: Way) -> Way:
        way.records = records  # type: ignore[attr-defined]
        return way

    return decorate


def records_of(way: Way) -> Sequence[type[Any]]:
    """Returns the classes of options that `reads` stored for a function."""
    records: Sequence[type[Any]] = way.records  # type: ignore[attr-defined]
    return records


def selector(way: str) -> str | None:
    """Returns the field name of the option that selects a way; None for the default way ""."""
    return way.partition(" ")[0].removeprefix("--").replace("-", "_") or None


def selects(way: str, ctx: click.Context) -> bool:
    name, value = selector(way), way.partition(" ")[2]
    return name is None or (ctx.params[name] == value if value else ctx.params[name] is not None)


def fill(ctx: click.Context, records: Sequence[type[Any]], *, way: str = "") -> list[Any]:
    """Returns records with the values of a command's options; refuses options that none reads.

    Fields of options that are not stated keep their default. way: the key of `Command.ways`.
    """
    read = {name for record in records for name in names_of(record)} | {selector(way)}
    for param in ctx.command.params:
        if param.name not in read and is_stated(ctx, param.name):
            raise click.UsageError(_refusal(ctx, param, way), ctx)
    return [_filled(ctx, record) for record in records]


def _refusal(ctx: click.Context, param: click.Parameter, way: str) -> str:
    name, ways = option_name(param), getattr(ctx.command, "ways", {}).items()
    others = [
        other
        for other, run in ways
        if other != way and any(param.name in names_of(record) for record in records_of(run))
    ]
    if others and not is_stated(ctx, selector(way)):
        return f"{name} needs {' or '.join(others)}"
    return f"{name} cannot be given with {way or ctx.command.name}"


def names_of(record: type[Any]) -> set[str]:
    """Returns the names of all options that a record and the records in its fields read."""
    inner, names = _inner(record), {part.name for part in fields(record)}
    return (names - inner.keys()).union(*map(names_of, inner.values()))


def _filled(ctx: click.Context, record: type[Any]) -> Any:
    values = {name: _filled(ctx, inner) for name, inner in _inner(record).items()}
    for part in fields(record):
        required = part.default is MISSING and part.default_factory is MISSING
        if part.name in ctx.params and (required or is_stated(ctx, part.name)):
            values.setdefault(part.name, ctx.params[part.name])
    return record(**values)


def _inner(record: type[Any]) -> dict[str, Any]:
    """Returns the classes of a record's fields that are records themselves, by field name."""
    return {name: kind for name, kind in get_type_hints(record).items() if is_dataclass(kind)}
