"""Options that stand together in several commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Decorator = Callable[[Any], Any]


def together(*options: Decorator) -> Decorator:
    """Returns the decorator that adds options, in the order in which --help shows them."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate
