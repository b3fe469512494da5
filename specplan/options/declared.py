"""Options declared where their values are read: as the fields of a record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, field, fields
from typing import Any

import click

Decorator = Callable[[Any], Any]


def option(*names: str, default: Any = None, **settings: Any) -> Any:
    """Returns a field of a dataclass that an option of the command line fills.

    Args:
      names: of the option, as users state it; in Python it has the field's.
      default: of both.
      settings: as `click.option` takes them.
    """
    return field(default=default, metadata={"names": names, "settings": settings})


def takes(*records: type[Any]) -> Decorator:
    """Returns the decorator that gives a command the options of records, each of them once."""
    options: dict[str, Decorator] = {}
    for each in (each for record in records for each in _own_first(record)):
        if "names" in each.metadata and each.name not in options:
            settings = dict(each.metadata["settings"])
            if each.default is not None:
                settings["default"] = each.default
            options[each.name] = click.option(*each.metadata["names"], each.name, **settings)

    def decorate(command: Any) -> Any:
        for decorator in reversed(options.values()):
            command = decorator(command)
        return command

    return decorate


def _own_first(record: type[Any]) -> list[Field[Any]]:
    """Returns a record's fields, what it shares with others through a base class last."""
    known = {each.name: each for each in fields(record)}
    names = (name for part in record.__mro__ for name in vars(part).get("__annotations__", {}))
    return [known[name] for name in dict.fromkeys(names) if name in known]
