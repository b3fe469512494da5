"""Declares options: one by one, or as fields of the record that they fill."""

from collections.abc import Callable, Collection
from dataclasses import Field, field, fields
from typing import Any

import click

Decorator = Callable[[Any], Any]


class Option(click.Option):
    """An option with its place in the help.

    advanced: whether only --help-all shows it.
    heading: heading of its part of the help; None if not set yet.
    """

    def __init__(
        self, *arguments: Any, advanced: bool = False, heading: str | None = None, **settings: Any
    ) -> None:
        super().__init__(*arguments, **settings)
        self.advanced = advanced
        self.heading = heading


def command_option(*names: str, **settings: Any) -> Decorator:
    """Returns the decorator that adds an option, as `click.option` does."""
    return click.option(*names, cls=Option, **settings)


def option(*names: str, default: Any = None, **settings: Any) -> Any:
    """Returns a dataclass field that a command-line option fills.

    Names and settings as in `click.option`. The option's default is the field's default.
    """
    return field(default=default, metadata={"names": names, "settings": settings})


def takes(*records: type[Any], heading: str | None = None, rare: Collection[str] = ()) -> Decorator:
    """Returns the decorator that gives a command the options of records, each option once.

    heading: heading of their part of the help; rare: fields that only --help-all shows.
    """
    options: dict[str, Decorator] = {}
    for each in (each for record in records for each in _own_first(record)):
        if "names" in each.metadata and each.name not in options:
            settings = dict(each.metadata["settings"])
            if each.default is not None:
                settings["default"] = each.default
            if each.name in rare:
                settings["advanced"] = True
            options[each.name] = command_option(*each.metadata["names"], each.name, **settings)
    return together(*options.values(), heading=heading)


def together(*options: Decorator, heading: str | None = None) -> Decorator:
    """Returns the decorator that adds options under a heading, in the order of --help.

    Options that a decorator below has already added are skipped.
    """

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            before = list(getattr(command, "__click_params__", []))
            option(command)
            known = {param.name for param in before}
            added = [p for p in command.__click_params__[len(before) :] if p.name not in known]
            command.__click_params__[len(before) :] = added
            for param in added:
                if isinstance(param, Option) and param.heading is None:
                    param.heading = heading
        return command

    return decorate


def _own_first(record: type[Any]) -> list[Field[Any]]:
    """Returns a record's fields, fields from base classes last."""
    known = {each.name: each for each in fields(record)}
    names = (name for part in record.__mro__ for name in vars(part).get("__annotations__", {}))
    return [known[name] for name in dict.fromkeys(names) if name in known]
