"""Finds kinds: each file in a folder of kinds defines its own."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any


def members(*folders: str) -> Iterator[Any]:
    """Yields every object that modules of the packages define or import.

    folders: dotted names of packages.
    """
    for folder in folders:
        for module in pkgutil.iter_modules(importlib.import_module(folder).__path__):
            yield from vars(importlib.import_module(f"{folder}.{module.name}")).values()
