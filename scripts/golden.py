"""Golden answers: runs many commands as a user types them, and compares what two states answer.

    python scripts/golden.py write before      # on the old code: a file for each case
    python scripts/golden.py write after       # on the new code
    python scripts/golden.py compare before after

`golden/cases.txt` lists the cases, `golden/files` what they read. An answer is a command's stdout,
its stderr and its exit status; what a clock or the machine decides is masked (`golden_masks.py`),
and floats have six significant digits, so that an equal answer is an equal file. Cases run in
FOLDER/work, where later ones read what earlier ones wrote. One that has an answer is not run again
without --again; --only PATTERN chooses some by name.

A case runs the `specplan` of the current folder. Its processes are forked from one that has
imported other people's libraries, which takes longer than most cases do.
"""

import argparse
import difflib
import importlib
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from golden_masks import comparable, comparable_errors, stilled

ROOT = Path.cwd()
DATA = Path(__file__).resolve().parent / "golden"
LIBRARIES = (
    "torch", "transformers.generation.utils", "transformers.integrations.hub_kernels",
    "transformers.models.llama.modeling_llama", "accelerate", "scipy.optimize", "scipy.stats",
    "tokenizers", "safetensors.torch",
)  # fmt: skip


def cases() -> Iterator[tuple[str, str]]:
    """Yields each case's name and command."""
    words: dict[str, str] = {}
    text = (DATA / "cases.txt").read_text(encoding="utf-8")
    for line in re.sub(r"\n +", " ", text).splitlines():
        if " = " in line and line.split(" = ")[0].isupper():
            word, meaning = line.split(" = ", 1)
            words[word] = meaning
        elif line and not line.startswith("#"):
            name, command = line.split(": ", 1)
            yield name, re.sub(r"\$([A-Z]+)", lambda match: words[match[1]], command)


def answer(command: str, folder: Path) -> str:
    """Runs a command, steps joined by &&, and returns what came of it."""
    for output in re.findall(r"-o (\S+)", command):
        _remove(folder, output)
    said = [f"$ {command}\n"]
    for step in command.split(" && "):
        with TemporaryFile() as stdout, TemporaryFile() as stderr:
            status = _status(shlex.split(step), folder, stdout, stderr)
            said += [
                comparable(_content(stdout), step),
                comparable_errors(_content(stderr), step),
                f"exit status {status}\n",
            ]
        if status:
            break
    return "".join(said)


def _content(file: IO[bytes]) -> str:
    """Returns what a program wrote into a file."""
    file.seek(0)
    return file.read().decode()


def _remove(folder: Path, output: str) -> None:
    """Removes the output of an earlier run of a case, and the files next to it."""
    for path in folder.glob(f"{output}*"):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _status(words: list[str], folder: Path, stdout: IO[bytes], stderr: IO[bytes]) -> int:
    """Runs one program and returns its exit status."""
    if words[0] == "still":
        words = [sys.executable, __file__, *words]
    if words[0] != "specplan":
        return subprocess.run(words, cwd=folder, stdout=stdout, stderr=stderr).returncode
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.dup2(stdout.fileno(), 1)
            os.dup2(stderr.fileno(), 2)
            os.chdir(folder)
            sys.path[0] = str(ROOT)
            sys.argv = words
            runpy.run_module("specplan", run_name="__main__")
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0
        finally:
            sys.stdout.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def write(folder: Path, pattern: str, again: bool) -> None:
    """Writes the answers of all cases of these names into a folder, a file each."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "80"}
    for library in LIBRARIES:
        importlib.import_module(library)
    work = (folder / "work").resolve()
    shutil.copytree(DATA / "files", work, dirs_exist_ok=True)
    shutil.copytree(ROOT / "docs" / "configs", work / "configs", dirs_exist_ok=True)
    for name, command in cases():
        path = folder / f"{name}.txt"
        if fnmatch(name, pattern) and (again or not path.exists()):
            began = time.perf_counter()
            part = path.with_suffix(".part")
            part.write_text(answer(command, work), encoding="utf-8")
            part.replace(path)
            print(f"{time.perf_counter() - began:6.1f} s  {name}", flush=True)


def compare(before: Path, after: Path) -> int:
    """Prints how two folders of answers differ, by case; returns 1 if they do, else 0."""
    names = sorted({path.name for folder in (before, after) for path in folder.glob("*.txt")})
    differ = 0
    for name in names:
        first, second = (
            path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
            for path in (before / name, after / name)
        )
        sys.stdout.writelines(
            difflib.unified_diff(first, second, str(before / name), str(after / name))
        )
        differ += first != second
    print(f"{differ} of {len(names)} cases differ")
    return int(differ > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ways = parser.add_subparsers(dest="way", required=True)
    writing = ways.add_parser("write", help="run the cases and write their answers")
    writing.add_argument("folder", type=Path)
    writing.add_argument("--only", default="*", metavar="PATTERN", help="of names of cases")
    writing.add_argument("--again", action="store_true", help="those that have an answer, too")
    comparing = ways.add_parser("compare", help="print how answers differ; 1 if any does")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    stilling = ways.add_parser("still", help="of JSON, make up what a clock decided")
    stilling.add_argument("source", type=Path)
    stilling.add_argument("target", type=Path)
    options = parser.parse_args()
    if options.way == "compare":
        return compare(options.before, options.after)
    if options.way == "write":
        write(options.folder, options.only, options.again)
    else:
        value = stilled(json.loads(options.source.read_text(encoding="utf-8")))
        options.target.write_text(json.dumps(value), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
