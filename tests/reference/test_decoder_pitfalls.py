"""The table of pitfalls names tests that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = [
    line
    for line in (ROOT / "docs" / "pitfalls.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| pitfall |")
]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", ROWS)
def test_a_pitfall_has_a_test(row: str) -> None:
    tests = NAMED.findall(row)
    assert tests
    for path, name in tests:
        assert name in functions(ROOT / path)


def test_the_table_is_read() -> None:
    assert len(ROWS) > 25
