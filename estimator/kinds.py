"""Finds kinds: each file in a folder of kinds defines its own."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterable
from types import ModuleType
from typing import TypeVar

Kind = TypeVar("Kind")


def kinds_in(folders: Iterable[str], of: type[Kind]) -> list[type[Kind]]:
    """Returns all concrete subclasses of `of` that the modules of the packages contain.

    folders: dotted names of packages.
    """
    modules = (module for folder in folders for module in modules_in(folder))
    members = (each for module in modules for each in vars(module).values())
    classes = dict.fromkeys(each for each in members if inspect.isclass(each))
    return [each for each in classes if issubclass(each, of) and not inspect.isabstract(each)]


def modules_in(folder: str) -> list[ModuleType]:
    """Returns the modules of the package with this dotted name."""
    found = pkgutil.iter_modules(importlib.import_module(folder).__path__)
    return [importlib.import_module(f"{folder}.{module.name}") for module in found]
