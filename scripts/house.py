"""Measures the house: lines, the longest files, functions and commands, string look-ups, dead code.

    python scripts/house.py

Prints a line for each rule of CONTRIBUTING.md with what was found and what is allowed; the exit
status is 1 where a rule is broken. Nothing of the project is imported: files are read as text.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST_LINES, MOST_TEST_LINES = 35_000, 26_000
MOST_IN_FILE, MOST_PARAMETERS, MOST_IN_COMMAND = 250, 8, 60
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
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def is_command(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Returns whether click calls the function as a command."""
    return any("command" in ast.unparse(each).lower() for each in function.decorator_list)


def only_tests_reach(files: dict[str, str]) -> list[str]:
    """Returns the simulator's public functions and classes that nothing but tests names.

    Names are compared as text, so a name that two things share hides both.
    """
    named: dict[str, set[str]] = {}
    for path, source in files.items():
        for node in ast.walk(ast.parse(source)):
            names = (
                [node.id] if isinstance(node, ast.Name)
                else [node.attr] if isinstance(node, ast.Attribute)
                else []
            )   # fmt: skip
            for name in names:
                named.setdefault(name, set()).add(path)
    found = []
    for path in files:
        if path.startswith("simulator/"):
            for node in ast.parse(files[path]).body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    users = named.get(node.name, set())
                    if all(user.startswith("tests/") for user in users):
                        found.append(f"{path}: {node.name}")
    return found


def findings() -> list[Finding]:
    """Returns what was found for each rule."""
    files = sources()
    own = {path: source for path, source in files.items() if not path.startswith("tests/")}
    packages = {
        path: source for path, source in own.items()
        if not path.startswith(("scripts/", "benchmarks/"))
    }   # fmt: skip
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
        f"{path}: {len(ROW_LOOK_UP.findall(source))}" for path, source in own.items()
        if path.startswith(READERS) and ROW_LOOK_UP.search(source)
    ]   # fmt: skip
    unreached = only_tests_reach(files)
    outside = sum(lines[path] for path in own)
    many = f"commands over {MOST_IN_COMMAND} lines"
    return [
        Finding("lines outside tests", outside, MOST_LINES),
        Finding("lines of tests", sum(lines.values()) - outside, MOST_TEST_LINES),
        Finding(
            f"files over {MOST_IN_FILE} lines outside tests",
            len([path for path in long if path in own]),
            0,
            tuple(f"{path}: {lines[path]}" for path in long if path in own),
        ),
        Finding(f"functions over {MOST_PARAMETERS} parameters", len(wide), 0, tuple(wide)),
        Finding(many, len(long_commands), 0, tuple(long_commands)),
        Finding('look-ups row["…"] in reports and figures', len(looked_up), 0, tuple(looked_up)),
        Finding("what only tests reach in simulator", len(unreached), 0, tuple(unreached)),
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
