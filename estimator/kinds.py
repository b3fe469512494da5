"""Kinds that register themselves: each file of a folder of kinds adds its own."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterable
from typing import TypeVar

Kind = TypeVar("Kind")


def kinds_in(folders: Iterable[str], of: type[Kind]) -> list[type[Kind]]:
    """Returns the kinds that the modules of some packages define, in the order of their modules.

    Args:
      folders: dotted names of packages.
      of: what all of these kinds are; itself and other abstract classes are none.
    """
    found: dict[type[Kind], None] = {}
    for folder in folders:
        for module in pkgutil.iter_modules(importlib.import_module(folder).__path__):
            members = vars(importlib.import_module(f"{folder}.{module.name}")).values()
            found |= {
                each: None
                for each in members
                if inspect.isclass(each) and issubclass(each, of) and not inspect.isabstract(each)
            }
    return list(found)
