"""How options are declared: as the fields of a class, which `takes` gives to a command."""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import Field, field
from pathlib import Path
from typing import Any

import click

from specplan.options.requests import Option

COUNT = click.IntRange(min=1)
_TYPES: Mapping[str, Mapping[str, Any]] = {
    "bool": {"is_flag": True},
    "float": {"type": float},
    "int": {"type": int},
    "Path": {"type": click.Path(path_type=Path)},
}
# A field in a docstring: its name, and its help in one or several lines.
_HELP = re.compile(r"^(\w+): (.*(?:\n  .*)*)", re.MULTILINE)


def option(*names: str, default: Any = None, **settings: Any) -> Any:
    """Returns a field that an option of the command line fills.

    Names and settings are arguments of `click.option`. Without a name, the field `max_gamma` is
    --max-gamma; without a type, the option has the type of the field's annotation (bool: a flag).
    The default is the field's, too. The docstring of the class has the help, after the field's
    name. The class is a dataclass that reads the option, or only lists options for `takes`.
    """
    return field(default=default, metadata={"names": names, "settings": settings})


def rare(*names: str, default: Any = None, **settings: Any) -> Any:
    """Returns an `option` that only --help-all shows."""
    return option(*names, default=default, advanced=True, **settings)


def takes(
    *classes: type[Any],
    heading: str | None = None,
    without: Collection[str] = (),
    rare: Collection[str] = (),
) -> Callable[[Any], Any]:
    """Returns a decorator that adds the options of classes to a command, each option once.

    Options that the command already has from a decorator below are not added again.

    heading: heading of these options in the help.
    without: fields to leave out.
    rare: fields that only --help-all shows here.
    """
    found: dict[str, Field[Any]] = {}
    for each in classes:
        found |= {name: of for name, of in declared(each).items() if name not in found}

    def decorate(command: Any) -> Any:
        for name in reversed([name for name in found if name not in without]):
            if name not in {param.name for param in getattr(command, "__click_params__", [])}:
                settings = {**_typed(found[name].type), **found[name].metadata["settings"]}
                settings["heading"] = heading
                if found[name].default is not None:
                    settings["default"] = found[name].default
                if name in rare:
                    settings["advanced"] = True
                click.option(*names_of(name, found[name]), name, cls=Option, **settings)(command)
        return command

    return decorate


def names_of(name: str, declaration: Field[Any]) -> tuple[str, ...]:
    """Returns an option's names on the command line."""
    return declaration.metadata["names"] or (f"--{name.replace('_', '-')}",)


def declared(record: type[Any]) -> Mapping[str, Field[Any]]:
    """Returns the options that a class declares, its own before its base classes'."""
    known: dict[str, Field[Any]] = {}
    for part in record.__mro__:
        own: Mapping[str, Any] = vars(part)
        names: Iterable[str] = own
        if "__dataclass_fields__" in own:
            names, own = own.get("__annotations__", ()), own["__dataclass_fields__"]
        helps = dict(_HELP.findall(inspect.cleandoc(part.__doc__ or "")))
        for name in names:
            if "names" in getattr(own.get(name), "metadata", {}):
                own[name].type = vars(part).get("__annotations__", {}).get(name, own[name].type)
                if name in helps:
                    text = " ".join(helps[name].split()).replace(" [default: ", "  [default: ")
                    own[name].metadata["settings"].setdefault("help", text)
                known.setdefault(name, own[name])
    return known


def _typed(annotation: Any) -> Mapping[str, Any]:
    """Returns the option's type that an annotation implies: a path for Path, a flag for bool."""
    text = getattr(annotation, "__name__", str(annotation))
    return _TYPES.get(text.removesuffix(" | None").rpartition(".")[2], {})
