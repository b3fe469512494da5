"""Groups of options that belong together: a command takes each group as one object."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def option_group(name: str, record: type[Any], options: Sequence[Decorator]) -> Decorator:
    """Returns the decorator that gives a command these options as one record.

    Args:
      name: of the command's argument that takes the record.
      record: a dataclass with a field for each option.
      options: click options, in the order in which --help shows them.
    """
    names = [field.name for field in fields(record)]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_group(**values: Any) -> Any:
            group = record(**{field: values.pop(field) for field in names})
            return command(**{name: group}, **values)

        decorated: Callable[..., Any] = with_group
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate
