"""Options as fields of classes: their names, types and help."""

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import NoneType
from typing import Any, get_args

import click

from specplan.options.help import show_all

# The largest integer that an option takes where it has no other limit.
LARGEST = 2**63 - 1


class Whole(click.ParamType[int]):
    """An option's type: an integer in [low, high], as 1000 or 1e3. None: without that limit."""

    name = "integer"

    def __init__(self, low: int | None = None, high: int | None = None) -> None:
        self.low, self.high = low, high
        least = "" if low is None else f" of at least {low}"
        self._rule = f"must be an integer{least if high is None else f' from {low} to {high}'}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Returns the integer; raises a usage error that states the range."""
        low = -LARGEST if self.low is None else self.low
        high = LARGEST if self.high is None else self.high
        try:
            exact = Decimal(str(value))
            if low <= exact <= high and exact == int(exact):
                return int(exact)
        except InvalidOperation:  # no number, or NaN
            pass
        return self.fail(f"{self._rule}, got {value}", param, ctx)


COUNT = Whole(1)
DRAFTED = Whole(1, 10_000)
# Types of options by the annotation of their field; an option of a `bool` is a flag.
_TYPES: dict[Any, Any] = {float: float, int: Whole(), Path: click.Path(path_type=Path)}
# A field in a docstring: the name, then help in one or several lines.
_HELP = re.compile(r"^(\w+): (.*(?:\n  .*)*)", re.MULTILINE)


class Option(click.Option):
    """An option with its heading in the help. Its callback runs only on values that users state."""

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


_EAGER: Any = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": show_all}
HELP_ALL = Option(["--help-all"], help="Show every option, and each in full.", **_EAGER)


def option(*names: str, default: Any = None, **settings: Any) -> Any:
    """Returns a field that an option of the command line fills.

    Names and settings are arguments of `click.option`. By default the field `max_gamma` is
    --max-gamma, and its annotation gives the type (bool: a flag). The docstring of the class has
    the help, after the field's name.
    """
    return field(default=default, metadata={"names": names, "settings": settings})


def rare(*names: str, default: Any = None, **settings: Any) -> Any:
    """Returns an `option` that only --help-all shows."""
    return option(*names, default=default, advanced=True, **settings)


_DECLARED: dict[type[Any], dict[str, Field[Any]]] = {}


def declare(record: type[Any], **options: Any) -> type[Any]:
    """Declares the options that fill a record of a lower layer; returns the record.

    Types, defaults and help are the record's own; fields that are records have options of their
    own. options: for fields whose option needs more or others than these, an `option` or `rare` by
      the field's name.
    """
    named = inspect.get_annotations(record, eval_str=True)
    typed = [part for part in fields(record) if not is_dataclass(named.get(part.name, record))]
    options = {part.name: options.get(part.name, option()) for part in typed}
    for part in typed:
        if options[part.name].default is None and part.default not in (MISSING, ()):
            options[part.name].default = part.default
    _DECLARED[record] = options
    return record


def takes(
    *classes: type[Any],
    heading: str | None = None,
    without: Collection[str] = (),
    rare: Collection[str] = (),
) -> Callable[[Any], Any]:
    """Returns a decorator that adds the options of classes to a command, each option once.

    heading: heading of these options in the help.
    without: fields to leave out. rare: fields that only --help-all shows for this command.
    """
    options: dict[str, Field[Any]] = {}
    for record in classes:
        options |= {name: one for name, one in declared(record).items() if name not in options}

    def decorate(command: Any) -> Any:
        before = {param.name for param in getattr(command, "__click_params__", [])}
        for name, one in reversed(options.items()):
            if name in before or name in without:
                continue
            settings: Any = {"type": _TYPES.get(one.type), "is_flag": one.type is bool or None}
            settings |= one.metadata["settings"] | {"heading": heading, "cls": Option}
            if one.default is not None:
                settings["default"] = one.default
            settings["advanced"] = name in rare or settings.get("advanced", False)
            click.option(*flags_of(one), name, **settings)(command)
        return command

    return decorate


def flags_of(declaration: Field[Any]) -> tuple[str, ...]:
    """Returns an option's names on the command line."""
    return declaration.metadata["names"] or (f"--{declaration.name.replace('_', '-')}",)


def _given(hint: Any) -> Any:
    """Returns the type of a field that may also be None, without None."""
    others = [kind for kind in get_args(hint) if kind is not NoneType]
    return others[0] if len(others) == 1 and NoneType in get_args(hint) else hint


def declared(record: type[Any]) -> Mapping[str, Field[Any]]:
    """Returns the options of a class and its base classes by field name; its own come first."""
    known: dict[str, Field[Any]] = {}
    for part in record.__mro__:
        types = inspect.get_annotations(part, eval_str=True)
        declarations: Mapping[str, Any] = vars(part).get("__dataclass_fields__", vars(part))
        declarations = _DECLARED.get(part, declarations)
        helps = dict(_HELP.findall(inspect.cleandoc(part.__doc__ or "")))
        for name in types if is_dataclass(part) else declarations:
            declaration = declarations.get(name)
            if isinstance(declaration, Field) and "names" in declaration.metadata:
                declaration.name, declaration.type = name, _given(types.get(name, declaration.type))
                if name in helps:
                    text = " ".join(helps[name].split()).replace(" [default: ", "  [default: ")
                    declaration.metadata["settings"].setdefault("help", text)
                known.setdefault(name, declaration)
    return known
