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
    "engines": {"simulator", "estimator"},
    "studies": {"simulator", "reference", "ngram", "estimator"},
    "figures": {"simulator", "estimator", "studies"},
    "specplan": {
        "simulator", "reference", "ngram", "estimator", "engines", "studies", "figures",
    },
}
# Within a package a room, or a module beside the rooms, imports from those before it alone.
ROOMS: dict[str, list[str]] = {
    "simulator": ["numerics", "cost", "acceptance", "choice", "monte_carlo", "schemes", "traffic"],
    "reference": [
        "atomic", "laws", "models", "records", "stopping", "policies", "drafter", "clock",
        "draft_loop", "rules", "verifier", "branches", "speculative", "autoregressive",
        "generation", "beams", "speculative_beams", "state_heads", "drafters", "scoring",
        "training",
    ],
    "ngram": ["rows", "formats", "training", "drafters", "copies"],
    "estimator": [
        "notices", "progress", "writing", "seeding", "intervals", "draft_model", "prompt_files",
        "prompt_datasets", "prompts", "kinds", "settings", "drafters", "rules", "loading", "ngrams",
        "eagle3_training", "shapes", "costs", "runs", "traces", "profiles", "texts", "quality",
        "validation", "generation", "comparison",
    ],
    "engines": [
        "counting", "scores", "engine", "settings", "serving", "observing", "kind", "servers",
        "kinds", "registry", "sources", "trials",
    ],
    "studies": ["bild", "blockwise", "drafters", "analysed_heads"],
    "figures": [
        "drawing", "published", "registry", "files", "leviathan", "bild", "blockwise", "tables",
        "beyond_papers",
    ],
    "specplan": ["reports", "options", "commands", "main", "__main__"],
}  # fmt: skip
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


def imported_rooms(source: str, package: str) -> set[str]:
    """Returns the rooms, and modules beside them, of a package that a source of it imports."""
    rooms: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            head, *rest = node.module.split(".")
            if head == package:
                rooms |= {rest[0]} if rest else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            dotted = (alias.name.split(".") for alias in node.names)
            rooms |= {parts[1] for parts in dotted if parts[0] == package and len(parts) > 1}
    return rooms


@pytest.mark.parametrize(
    ("package", "path"), SOURCES, ids=[str(path.relative_to(ROOT)) for _, path in SOURCES]
)
def test_imports_point_down_inside_a_package(package: str, path: Path) -> None:
    order = ROOMS[package]
    room = path.relative_to(ROOT / package).parts[0].removesuffix(".py")
    if room == "__init__":
        return
    imported = imported_rooms(path.read_text(encoding="utf-8"), package)
    assert imported <= {*order[: order.index(room)], room}


@pytest.mark.parametrize("package", ROOMS)
def test_every_room_says_what_lives_there(package: str) -> None:
    rooms = [path for path in sorted((ROOT / package).iterdir()) if list(path.glob("*.py"))]
    for room in rooms:
        assert room.name in ROOMS[package]
        doc = ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8")))
        assert doc is not None
        assert len(doc.splitlines()) == 1


@pytest.mark.parametrize(
    "path", sorted((ROOT / "simulator").rglob("*.py")), ids=lambda path: path.name
)
def test_simulator_imports_numpy_and_scipy_alone(path: Path) -> None:
    imported = imported_packages(path.read_text(encoding="utf-8"))
    assert imported <= {"numpy", "scipy", "simulator"} | sys.stdlib_module_names


def test_the_check_sees_imports_inside_functions() -> None:
    source = "def f():\n    from simulator.acceptance.replay import replay\n"
    assert imported_packages(source) == {"simulator"}
