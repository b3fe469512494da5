"""Applies known faults one by one in a copy of the project; lists those that no test notices.

    python scripts/faults.py                     # all of them
    python scripts/faults.py odds-turned-round rollback-of-nothing

`faults.toml` has each fault: the words of a source file that it replaces, what a user would then
get wrong, and the test files that should notice. For each, these tests run up to the first failure.
At the end, all tests that failed run without a fault, so that only the faults explain it. The exit
status is 1 if a fault is not found.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parent.parent
LIST = Path(__file__).with_suffix(".toml")
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info")
# A fault may make a loop endless: it is then found, too.
SECONDS = 900
ENDLESS = f"no end within {SECONDS} s"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - |$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fault:
    """A replacement of a few words of one file.

    kind: others (other implementations made it), mended (it was here once), chosen (by its loss).
    file: path from the root. text: words that occur once there. wrong: the words in their place.
    loss: the consequence for a user.
    tests: test files below tests/, of which at least one must notice.
    """

    name: str
    kind: Literal["others", "mended", "chosen"]
    file: str
    text: str
    wrong: str
    loss: str
    tests: tuple[str, ...]

    def applied(self, source: str) -> str:
        """Returns the file's content with the fault; refuses text that does not occur once."""
        if (count := source.count(self.text)) != 1:
            raise ValueError(
                f"fault {self.name}: {self.text!r} must occur once in {self.file}, got {count}"
            )
        return source.replace(self.text, self.wrong)


def faults() -> dict[str, Fault]:
    """Returns all faults by name, in the order of the file."""
    listed = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return {
        name: Fault(name, **{**fields, "tests": tuple(fields["tests"])})
        for name, fields in listed.items()
    }


def noticed_by(fault: Fault, copy: Path) -> str | None:
    """Returns the test in a copy of the project that fails by a fault; None if all pass."""
    path = copy / fault.file
    source = path.read_text(encoding="utf-8")
    path.write_text(fault.applied(source), encoding="utf-8")
    try:
        return next(iter(failures(copy, [f"tests/{name}" for name in fault.tests], "-x")), None)
    except subprocess.TimeoutExpired:
        return ENDLESS
    finally:
        path.write_text(source, encoding="utf-8")


def failures(copy: Path, tests: Iterable[str], *options: str) -> list[str]:
    """Returns the tests that fail; refuses a run of pytest that ended early for other reasons."""
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-rfE",
            "--tb=no",
            "-p",
            "no:cacheprovider",
            *options,
            *tests,
        ],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
    )
    failed = _FAILED.findall(run.stdout)
    if run.returncode != 0 and not failed:
        raise RuntimeError(f"pytest ended with {run.returncode}:\n{run.stdout[-2000:]}")
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="names of faults; all if none")
    names, known = parser.parse_args().names, faults()
    if unknown := [name for name in names if name not in known]:
        parser.error(f"a fault must be one of {', '.join(known)}, got {unknown[0]}")
    chosen = [known[name] for name in names or known]
    for fault in chosen:
        fault.applied((ROOT / fault.file).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="specplan-faults-") as folder:
        copy = Path(folder) / "tree"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        noticed: dict[str, str] = {}
        for fault in chosen:
            began = time.monotonic()
            test = noticed_by(fault, copy)
            noticed |= {} if test is None else {fault.name: test}
            result = f"NOT found: {fault.loss}" if test is None else f"found by {test}"
            print(f"{fault.name}: {result} ({time.monotonic() - began:.0f} s)", flush=True)
        ran = sorted(set(noticed.values()) - {ENDLESS})
        broken = failures(copy, ran) if ran else []
    for test in broken:
        print(f"{test} fails without a fault, too: it finds nothing")
    total = sum(test not in broken for test in noticed.values())
    print(f"{total} of {len(chosen)} faults found")
    sys.exit(total < len(chosen))


if __name__ == "__main__":
    main()
