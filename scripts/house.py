"""Measures the house: lines, files, functions, records, names, import circles, dead code.

    python scripts/house.py

Prints a line for each rule of CONTRIBUTING.md with what was found and what is allowed; the exit
status is 1 where a rule is broken. Records of every kind count, with the fields that they inherit.
Nothing of the project is imported: files are read as text. Limits above their aim are today's
counts: they only fall.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from house_records import field_counts, names_in_several_files, nodes_of

ROOT = Path(__file__).parent.parent
PACKAGES = (
    "simulator", "reference", "ngram", "estimator", "engines", "studies", "figures", "specplan",
)  # fmt: skip
MOST_LINES = 64_037
MOST_IN_FILE, MOST_IN_TEST_FILE, MOST_PARAMETERS, MOST_IN_COMMAND = 250, 400, 8, 60
MOST_FIELDS = 14
MOST_RECORDS, MOST_WIDE = 400, 25
# Folders that hold a small file for each kind, on purpose.
KIND_FOLDERS = (
    "engines/kinds/", "estimator/draft_names/", "estimator/model_shapes/heads/",
    "specplan/options/inputs/",
)  # fmt: skip
KIND_TEST = re.compile(r"""(?<!for )\b(?:kind|name|algorithm|word)\b (?:==|!=|in) \(?["'{]""")
ROW_LOOK_UP = re.compile(r"\brow\[\"")
READERS = ("figures/", "specplan/reports/", "specplan/commands/")


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule, what breaks it, and how many may.

    rule: in words.
    found: how much there is.
    most: how much is allowed.
    where: the worst places, at most a few.
    """

    rule: str
    found: int
    most: int
    where: tuple[str, ...] = ()


def sources() -> dict[str, str]:
    """Returns the Python files that git tracks, by path from the root, and their text."""
    listed = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = [path for path in listed.stdout.split() if (ROOT / path).is_file()]
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in paths}


def functions(source: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yields every function of a source, nested ones and methods too."""
    for node in nodes_of(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def is_command(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Returns whether click calls the function as a command."""
    return any("command" in ast.unparse(decorator).lower() for decorator in function.decorator_list)


def only_tests_reach(files: dict[str, str]) -> list[str]:
    """Returns the simulator's public functions and classes that nothing but tests names.

    Names are compared as text, so a name that two things share hides both.
    """
    named: dict[str, set[str]] = {}
    for path, source in files.items():
        for node in nodes_of(source):
            names = (
                [node.id] if isinstance(node, ast.Name)
                else [node.attr] if isinstance(node, ast.Attribute)
                else []
            )  # fmt: skip
            for name in names:
                named.setdefault(name, set()).add(path)
    unreached = []
    for path in files:
        if path.startswith("simulator/"):
            module = nodes_of(files[path])[0]
            assert isinstance(module, ast.Module)
            for node in module.body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    users = named.get(node.name, set())
                    if all(user.startswith("tests/") for user in users):
                        unreached.append(f"{path}: {node.name}")
    return unreached


def circles(packages: dict[str, str]) -> list[str]:
    """Returns the modules that import each other, a line for each circle.

    Imports within functions and for type checks count, too.
    """
    modules = {path.removesuffix(".py").replace("/", "."): path for path in packages}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        imported: set[str] = set()
        for node in nodes_of(packages[path]):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
        graph[module] = (imported & modules.keys()) - {module}
    reached = {module: _reached(module, graph) for module in graph}
    together = {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in graph
        if module in reached[module]
    }
    return sorted(", ".join(sorted(group)) for group in together)


def _reached(start: str, graph: dict[str, set[str]]) -> set[str]:
    """Returns every module that one imports, directly or through others."""
    reached: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += graph[module]
    return reached


def slivers(packages: dict[str, str]) -> list[Finding]:
    """Returns what was found of files with few lines, outside folders of kinds."""
    sizes = {
        path: source.count("\n")
        for path, source in packages.items()
        if not path.startswith(KIND_FOLDERS) and not path.endswith("__init__.py")
    }
    return [
        Finding(
            f"files under {most} lines",
            sum(size < most for size in sizes.values()),
            allowed,
            tuple(path for path, size in sizes.items() if size < most),
        )
        for most, allowed in ((40, 13), (60, 40))
    ]


def findings() -> list[Finding]:
    """Returns what was found for each rule."""
    files = sources()
    outside_tests = {
        path: source for path, source in files.items() if not path.startswith("tests/")
    }
    packages = {
        path: source for path, source in outside_tests.items() if path.split("/")[0] in PACKAGES
    }
    lines = {path: source.count("\n") for path, source in files.items()}
    long = sorted((path for path in files if lines[path] > MOST_IN_FILE), key=lines.__getitem__)
    wide, long_commands = [], []
    for path, source in packages.items():
        for function in functions(source):
            parameters = len(function.args.args) + len(function.args.kwonlyargs)
            if parameters > MOST_PARAMETERS:
                wide.append(f"{path}: {function.name} has {parameters}")
            length = (function.end_lineno or 0) - function.lineno + 1
            if is_command(function) and length > MOST_IN_COMMAND:
                long_commands.append(f"{path}: {function.name} has {length}")
    looked_up = [
        f"{path}: {len(ROW_LOOK_UP.findall(source))}" for path, source in outside_tests.items()
        if path.startswith(READERS) and ROW_LOOK_UP.search(source)
    ]  # fmt: skip
    unreached = only_tests_reach(files)
    long_tests = [
        path for path in files if path not in outside_tests and lines[path] > MOST_IN_TEST_FILE
    ]
    tested = [
        f"{path}: {len(KIND_TEST.findall(source))}"
        for path, source in packages.items()
        if KIND_TEST.search(source)
    ]
    round_about = circles(packages)
    twice = names_in_several_files(packages)
    counts = field_counts(packages)
    too_wide = [f"{name} has {fields}" for name, fields in counts.items() if fields > MOST_FIELDS]
    many = f"commands over {MOST_IN_COMMAND} lines"
    return [
        Finding("lines of the packages", sum(lines[path] for path in packages), MOST_LINES),
        Finding(
            f"test files over {MOST_IN_TEST_FILE} lines", len(long_tests), 0, tuple(long_tests)
        ),
        Finding(
            f"files over {MOST_IN_FILE} lines outside tests",
            len([path for path in long if path in outside_tests]),
            0,
            tuple(f"{path}: {lines[path]}" for path in long if path in outside_tests),
        ),
        Finding(f"functions over {MOST_PARAMETERS} parameters", len(wide), 0, tuple(wide)),
        Finding(many, len(long_commands), 0, tuple(long_commands)),
        Finding('look-ups row["…"] in reports and figures', len(looked_up), 0, tuple(looked_up)),
        Finding("what only tests reach in simulator", len(unreached), 0, tuple(unreached)),
        Finding("import circles", len(round_about), 0, tuple(round_about)),
        Finding("files that compare a kind with a string", len(tested), 9, tuple(tested)),
        Finding("class names used in several files", len(twice), 0, tuple(twice)),
        Finding("records", len(counts), MOST_RECORDS),
        Finding(f"records over {MOST_FIELDS} fields", len(too_wide), MOST_WIDE, tuple(too_wide)),
        *slivers(packages),
    ]


def main() -> None:
    """Prints the findings; ends with 1 where a rule is broken."""
    broken = False
    for finding in findings():
        over = finding.found > finding.most
        broken = broken or over
        verdict = "over" if over else "ok"
        print(f"{verdict:5}{finding.found:7,} of {finding.most:6,}  {finding.rule}")
        for place in finding.where[:12] if over else ():
            print(f"{'':24}{place}")
    sys.exit(broken)


if __name__ == "__main__":
    main()
