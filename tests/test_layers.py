"""The folders are the architecture: imports point down the layers only."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ALLOWED: dict[str, set[str]] = {
    "simulator": set(),
    "reference": set(),
    "ngram": {"reference"},
    "estimator": {"simulator", "reference", "ngram"},
    "figures": {"simulator", "estimator"},
    "specplan": {"simulator", "reference", "ngram", "estimator", "figures"},
}
SOURCES = [
    (package, path) for package in ALLOWED for path in sorted((ROOT / package).rglob("*.py"))
]


def imported_packages(source: str) -> set[str]:
    """Returns the top-level names of all absolute imports, wherever in the source they stand."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize(
    ("package", "path"), SOURCES, ids=[str(path.relative_to(ROOT)) for _, path in SOURCES]
)
def test_imports_point_down_the_layers(package: str, path: Path) -> None:
    imported = imported_packages(path.read_text(encoding="utf-8"))
    assert imported & set(ALLOWED) - {package} <= ALLOWED[package]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "simulator").rglob("*.py")), ids=lambda path: path.name
)
def test_simulator_imports_numpy_and_scipy_alone(path: Path) -> None:
    imported = imported_packages(path.read_text(encoding="utf-8"))
    assert imported <= {"numpy", "scipy", "simulator"} | sys.stdlib_module_names


def test_the_check_sees_imports_inside_functions() -> None:
    source = "def f():\n    from simulator.acceptance.replay import replay\n"
    assert imported_packages(source) == {"simulator"}
