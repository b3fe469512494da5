"""The commands that README and the pages of docs show, with what they print.

    python scripts/documented.py

runs those whose output is shown in full, and writes into the pages what they print now. Lines that
begin with `$ ` are commands, what follows them is their output, and a line `…` in it stands for any
others. A block without `$ ` shows commands only, as does code within a sentence that begins with
`specplan` and has an option. Blocks between fences that name a language are none of these.
"""

import re
import shlex
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROMPT = "$ "
ELLIPSIS = "…"
_BLOCK = re.compile(r"(?m)(?:^    .*\n|^\n(?=    ))+|^```\w*\n(?:.*\n)*?```$")
_INLINE = re.compile(r"`(specplan [^`…\n]* -[^`…\n]*)`")
_ENVIRONMENT = re.compile(r"[A-Z_]+=\S*")
_COMMAND = re.compile(rf"(?:{_ENVIRONMENT.pattern} )*(?:specplan|python|make) ")


@dataclass(frozen=True, slots=True)
class Example:
    """A command of a page: specplan itself, a script, or what make makes.

    page: relative to the repository.
    command: without the prompt, on one line.
    shown: the lines below it; empty where the page shows none.
    inline: whether it is part of a sentence, which may omit arguments that the command needs.
    """

    page: str
    command: str
    shown: tuple[str, ...] = ()
    inline: bool = False

    def words(self) -> list[str]:
        """Returns what the shell would run: no variables before it, nothing redirected."""
        words = shlex.split(self.command, comments=True)
        while words and _ENVIRONMENT.fullmatch(words[0]):
            words = words[1:]
        return words[: words.index(">")] if ">" in words else words


def pages() -> list[Path]:
    """Returns README, the guide for contributors, and all pages of docs."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def examples(page: Path) -> list[Example]:
    """Returns the commands of a page in their order, those within sentences last."""
    text = page.read_text(encoding="utf-8")
    name = str(page.relative_to(ROOT))
    blocks = [match.group() for match in _BLOCK.finditer(text) if _is_shell(match.group())]
    shown = [Example(name, *parts) for block in blocks for parts in _of_block(block)]
    prose = _BLOCK.sub("", text)
    return shown + [Example(name, command, inline=True) for command in _INLINE.findall(prose)]


def _is_shell(block: str) -> bool:
    return not block.startswith("```") or block.startswith("```\n")


def _of_block(block: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    lines = textwrap.dedent(re.sub(r"(?m)^```$", "", block)).strip("\n").split("\n")
    prompted = any(line.startswith(PROMPT) for line in lines)
    starts = [i for i, line in enumerate(lines) if not prompted or line.startswith(PROMPT)]
    starts = [i for i in starts if i == 0 or not lines[i - 1].endswith("\\")]
    for start, following in zip(starts, [*starts[1:], len(lines)], strict=True):
        end = next(i for i in range(start, len(lines)) if not lines[i].endswith("\\")) + 1
        command = " ".join(line.rstrip("\\").strip() for line in lines[start:end])
        shown = tuple(lines[end:following]) if prompted else ()
        command = command.removeprefix(PROMPT)
        if _COMMAND.match(command):
            yield command, shown


def main() -> None:
    from click.testing import CliRunner

    from specplan.main import main as program

    for page in pages():
        text = page.read_text(encoding="utf-8")
        for example in examples(page):
            words = example.words()
            if not example.shown or ELLIPSIS in example.shown or words[0] != "specplan":
                continue
            result = CliRunner().invoke(program, words[1:])
            if result.exit_code != 0:
                sys.exit(f"{example.page}: {example.command}: {result.stderr}")
            old, new = ("\n".join(lines).strip("\n") for lines in (example.shown, [result.stdout]))
            if old == new:
                continue
            old, new = (textwrap.indent(lines, "    ") for lines in (old, new))
            assert text.count(old) == 1, (
                f"{example.page}: {example.command} is shown in another way"
            )
            text = text.replace(old, new)
            print(f"{example.page}: {example.command}")
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
