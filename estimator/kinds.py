"""Finds kinds: each file in a folder of kinds defines its own."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterable
from types import ModuleType
from typing import TypeVar

Kind = TypeVar("Kind")


def kinds_in(folders: Iterable[str], of: type[Kind]) -> list[type[Kind]]:
    """Returns the kinds that the modules of some packages define, in the modules' order.

    of: common base class of the kinds; abstract classes are not returned.
    """
    found: dict[type[Kind], None] = {}
    for folder in folders:
        for module in modules_in(folder):
            found |= {
                each: None
                for each in vars(module).values()
                if inspect.isclass(each) and issubclass(each, of) and not inspect.isabstract(each)
            }
    return list(found)


def modules_in(folder: str) -> list[ModuleType]:
    """Returns the modules of a package, given by its dotted name."""
    package = importlib.import_module(folder)
    return [
        importlib.import_module(f"{folder}.{module.name}")
        for module in pkgutil.iter_modules(package.__path__)
    ]
