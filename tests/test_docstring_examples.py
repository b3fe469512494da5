"""The examples in docstrings print what they show."""

import doctest
import importlib

import pytest
from house import sources

MODULES = sorted(
    path.removesuffix(".py").replace("/", ".")
    for path, source in sources().items()
    if not path.startswith(("tests/", "scripts/", "benchmarks/")) and ">>> " in source
)


@pytest.mark.parametrize("module", MODULES)
def test_an_example_prints_its_shown_output(module: str) -> None:
    found = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert found.attempted > 0
    assert found.failed == 0
