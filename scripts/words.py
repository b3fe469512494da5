"""Counts old-fashioned and vague words, and sentences that begin with a relative clause.

    python scripts/words.py            # compares with scripts/words.json; exit status 1 if over
    python scripts/words.py --show engines    # prints each place in a package
    python scripts/words.py --lower    # writes today's counts where they are lower

Reads docstrings, comments, other strings with a space (help, messages), the pages of docs, names
that functions bind, the arguments that docstrings describe, and the names of tests. The limits in
words.json only fall, so that new and changed lines are plain.
"""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from house_records import nodes_of

ROOT = Path(__file__).parents[1]
LIMITS = Path(__file__).with_suffix(".json")
WORDS = re.compile(
    r"\b(alone|anew|asked|bears?|borne|besides?|feign\w*|foret(?:ell|ells|old)|likewise|of what|"
    r"put back|stands?|takes? up|that of|thereof|those of|told|whatever)\b",
    re.IGNORECASE,
)
# Where a word is right: the field's own terms, and names that the public uses.
ALLOWED = re.compile(r"stand-?alone|frequently asked|stands? for\b", re.IGNORECASE)
# A sentence, a field's line ("draws: of what …") or a help string must not open like this.
BEGINNINGS = re.compile(
    r"^(?:(?:Of|Those|What|Likewise)|[\w, ]{1,40}: (?:of|those|what|likewise))\b(?!.*\?$)"
)
# Words that send the reader back, and things that speak.
VAGUE = re.compile(
    r"\b(as above|the former|the latter|(?:is|are|was|were) (?:said|told)|says? of|"
    r"tells?|telling)\b",
    re.IGNORECASE,
)
# Names that do not say what they hold, and words in the names of tests that do not say a fact.
NAMES = frozenset({"asked", "door", "each", "found", "made", "own", "stated"})
RIDDLES = re.compile(
    r"_(anew|asked|bears?|borne|foretold|of_what|puts?_back|told|what|who|whom|whose)(?=_|$)"
)
# The line of a docstring that describes arguments, and what a function returns where such lines
# describe keys of its result.
DESCRIBED = re.compile(r"^([a-z]\w+(?:, [a-z]\w+)*): (?! )", re.MULTILINE)
KEYED = re.compile(r"dict|Mapping|Json|Numbers|list")
KINDS = ("words", "beginnings", "vague", "names")
CODE_BLOCK = re.compile(r"(?ms)^```.*?^```$|^(?: {4}|\t).*$|`[^`\n]*`")
# Strings of Python 3.11, which may hold a #, and comments.
STRING_OR_COMMENT = re.compile(
    r'''("""|\'\'\')(?:[^\\]|\\.)*?\1|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?P<comment>#[^\n]*)''',
    re.DOTALL,
)
SELF = ("scripts/words.py",)


def texts(path: str, source: str) -> Iterator[tuple[int, str]]:
    """Yields the pieces of text that people read in a file: first line number and text."""
    if path.endswith(".md"):
        yield 1, CODE_BLOCK.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)
        return
    nodes = nodes_of(source)
    parts = {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            pieces = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
            yield node.lineno, "".join(map(str, pieces))
        elif isinstance(node, ast.Constant) and node not in parts and " " in str(node.value):
            yield node.lineno, str(node.value)
    line, start = 1, 0
    for match in STRING_OR_COMMENT.finditer(source):
        if match["comment"] is not None:
            line, start = line + source.count("\n", start, match.start()), match.start()
            yield line, match["comment"].lstrip("# ")


def lacking(function: ast.FunctionDef) -> list[str]:
    """Returns names that the function's docstring describes, and that are not its arguments."""
    result = "" if function.returns is None else ast.unparse(function.returns)
    doc = ast.get_docstring(function)
    if doc is None or KEYED.search(result) or function.name.startswith("parse_"):
        return []
    arguments = {part.arg for part in ast.walk(function.args) if isinstance(part, ast.arg)}
    described = [name for line in DESCRIBED.findall(doc) for name in line.split(", ")]
    return [name for name in described if name not in arguments]


def bound(node: ast.AST) -> str | None:
    """Returns the name that a node binds: an argument's, also of a lambda, or a variable's."""
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else None


def names(source: str) -> Iterator[tuple[int, str]]:
    """Yields the first place of each bad name that a function binds, and each bad test name.

    A name that a docstring describes is bad if the function has no argument of this name.
    """
    nodes = nodes_of(source)
    bad = [(part.lineno, name) for part in nodes if (name := bound(part)) in NAMES]
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            yield from ((node.lineno, name) for name in lacking(node))
            if node.name.startswith("test_") and RIDDLES.search(node.name):
                yield node.lineno, node.name
            start = min(part.lineno for part in (node, *node.decorator_list))
            within = range(start, (node.end_lineno or start) + 1)
            first = {name: line for line, name in reversed(bad) if line in within}
            yield from ((line, name) for name, line in first.items())


def found(path: str, source: str) -> Iterator[tuple[int, str, str]]:
    """Yields line number, one of KINDS, and the line, once for each fault."""
    if path.endswith(".py"):
        yield from ((number, "names", name) for number, name in names(source))
    for first, text in texts(path, source):
        for number, line in enumerate(text.splitlines(), start=first):
            plain = ALLOWED.sub("", line)
            for _ in WORDS.findall(plain):
                yield number, "words", line.strip()
            for _ in VAGUE.findall(plain):
                yield number, "vague", line.strip()
            if BEGINNINGS.match(line.strip()):
                yield number, "beginnings", line.strip()


def package(path: str) -> str:
    """Returns the group that a file counts for: its top folder, or its name at the top."""
    return path.split("/")[0]


def faults() -> Iterator[tuple[str, int, str, str]]:
    """Yields path, line number, kind and line of every fault in what git tracks."""
    listed = subprocess.run(
        ["git", "ls-files", "*.py", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for path in listed.stdout.split():
        if path not in SELF and (ROOT / path).is_file():
            source = (ROOT / path).read_text(encoding="utf-8")
            yield from ((path, *fault) for fault in found(path, source))


def main(arguments: list[str]) -> int:
    """Prints counts and limits, or the places of one package; returns the exit status."""
    limits: dict[str, dict[str, int]] = json.loads(LIMITS.read_text(encoding="utf-8"))
    every = list(faults())
    if arguments[:1] == ["--show"]:
        for path, number, kind, line in every:
            if path.startswith(tuple(arguments[1:])):
                print(f"{path}:{number}: {kind}: {line}")
        return 0
    counts = {name: dict.fromkeys(KINDS, 0) for name in limits}
    for path, _, kind, _ in every:
        counts.setdefault(package(path), dict.fromkeys(KINDS, 0))[kind] += 1
    nothing = dict.fromkeys(KINDS, 0)
    over = 0
    for name, count in sorted(counts.items()):
        limit = limits.get(name, nothing)
        for kind, number in count.items():
            most = limit.get(kind, number)
            over += number > most
            verdict = "over" if number > most else "ok"
            print(f"{verdict:5}{number:5} of {most:5}  {kind} in {name}")
    if arguments == ["--lower"]:
        lower = {
            name: {
                kind: min(number, limits.get(name, count).get(kind, number))
                for kind, number in count.items()
            }
            for name, count in sorted(counts.items())
        }
        LIMITS.write_text(json.dumps(lower, indent=1) + "\n", encoding="utf-8")
    elif over:
        print("\n`python scripts/words.py --show FOLDER` lists the places; STYLE: plain English.")
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
