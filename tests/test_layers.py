"""The folders are the architecture: imports point down the layers only."""

import ast
import re
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ALLOWED: dict[str, set[str]] = {
    "simulator": set(),
    "reference": set(),
    "ngram": {"reference"},
    "estimator": {"simulator", "reference", "ngram"},
    "engines": {"simulator", "reference", "estimator"},
    "studies": {"simulator", "reference", "ngram", "estimator"},
    "figures": {"simulator", "estimator", "studies"},
    "specplan": {"simulator", "reference", "ngram", "estimator", "engines", "studies", "figures"},
}
# Within a package, a room or a single module imports only from rooms and modules before it.
ROOMS: dict[str, list[str]] = {
    "simulator": ["numerics", "cost", "acceptance", "choice", "schemes", "traffic"],
    "reference": [
        "files", "sampling_ranges", "laws", "scoring", "models", "records", "policies",
        "drafter", "rules", "verify", "speculative", "beams", "state_heads",
        "drafters", "training",
    ],
    "ngram": ["rows", "formats", "training", "indexes", "drafters", "copies"],
    "estimator": [
        "progress", "writing", "intervals", "kinds", "settings", "prompts", "draft_names",
        "rule_names", "requests", "loading", "training", "model_shapes",
        "costs", "timing", "traces", "profiles", "texts", "validation", "generation", "comparison",
    ],
    "engines": [
        "counting", "engine", "turns", "text_scores", "observing", "kind", "servers",
        "kinds", "sources", "trials", "tuning",
    ],
    "studies": ["bild", "blockwise"],
    "figures": [
        "drawing", "labels", "numbers", "registry", "leviathan", "bild", "blockwise", "ours",
    ],
    "specplan": ["reports", "api", "options", "commands", "main", "__main__"],
}  # fmt: skip
SOURCES = {
    package: {path: path.read_text(encoding="utf-8") for path in (ROOT / package).rglob("*.py")}
    for package in ALLOWED
}


@cache
def imports(source: str) -> list[ast.Import | ast.ImportFrom]:
    """Returns all imports of a source, nested ones too."""
    nodes = ast.walk(ast.parse(source))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def imported_packages(source: str) -> set[str]:
    """Returns the top-level names of all absolute imports of a source, nested ones too."""
    names: set[str] = set()
    for node in imports(source):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_point_down_the_layers(package: str) -> None:
    refused = set(ALLOWED) - {package} - ALLOWED[package]
    imported = {path: imported_packages(source) for path, source in SOURCES[package].items()}
    assert {path: names & refused for path, names in imported.items() if names & refused} == {}


def imported_rooms(source: str, package: str) -> set[str]:
    """Returns the rooms and single modules of a package that one of its files imports."""
    rooms: set[str] = set()
    for node in imports(source):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            head, *rest = node.module.split(".")
            if head == package:
                rooms |= {rest[0]} if rest else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            dotted = (alias.name.split(".") for alias in node.names)
            rooms |= {parts[1] for parts in dotted if parts[0] == package and len(parts) > 1}
    return rooms


@pytest.mark.parametrize("package", ROOMS)
def test_imports_point_down_inside_a_package(package: str) -> None:
    order = ROOMS[package]
    upward = {}
    for path, source in SOURCES[package].items():
        room = path.relative_to(ROOT / package).parts[0].removesuffix(".py")
        if room != "__init__":
            allowed = {*order[: order.index(room)], room}
            upward[path] = imported_rooms(source, package) - allowed
    assert {path: rooms for path, rooms in upward.items() if rooms} == {}


@pytest.mark.parametrize("package", ROOMS)
def test_every_room_has_a_docstring_of_one_line(package: str) -> None:
    rooms = [path for path in sorted((ROOT / package).iterdir()) if list(path.glob("*.py"))]
    for room in rooms:
        assert room.name in ROOMS[package]
        doc = ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8")))
        assert doc is not None
        assert len(doc.splitlines()) == 1


def test_simulator_imports_numpy_and_scipy_alone() -> None:
    allowed = {"numpy", "scipy", "simulator"} | sys.stdlib_module_names
    imported = {path: imported_packages(text) for path, text in SOURCES["simulator"].items()}
    assert {path: names - allowed for path, names in imported.items() if names - allowed} == {}


def test_the_check_sees_imports_inside_functions() -> None:
    source = "def f():\n    from simulator.acceptance.replay import replay\n"
    assert imported_packages(source) == {"simulator"}


# Options of other programs, and of commands that a message quotes.
QUOTED = re.compile(
    r"(?:plan|observe|validate) --json|plan --gpu list|measure --batch|heads train --kind|"
    r"--draft-model|--per-request-spec-decode-metrics|--spec-draft-p-min"
)


def test_errors_below_the_options_name_arguments_and_no_option() -> None:
    """`options.command.flagged` turns an `argument` into the option that states it."""
    named = {
        f"{path.relative_to(ROOT)}:{node.lineno}": ast.unparse(node.exc)
        for sources in SOURCES.values()
        for path, source in sources.items()
        if not {"options", "commands"} & set(path.parts) and path.name != "main.py"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Raise) and node.exc is not None
    }
    wrong = {
        place: text for place, text in named.items() if re.search(r"--[a-z]", QUOTED.sub("", text))
    }
    assert wrong == {}
