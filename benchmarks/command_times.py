"""Processor times of whole commands, as multiples of this Python's time to import numpy.

    python benchmarks/command_times.py --turns 5 [--other CHECKOUT] [--only PATTERN]

Each turn runs every command once, in this checkout and in the other one, and imports numpy before
each command, so that other work on the machine slows all of them. Printed are medians over the
turns of user and system seconds: a command's seconds, their ratio to the import before it, and the
other checkout's seconds over this one's. Figures go to a temporary folder.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from random import randrange
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
CONFIGS = "docs/configs"
HEAD = (
    f"--target-config {CONFIGS}/llama-3.1-8b.json "
    f"--draft-config {CONFIGS}/llama-3.1-8b-eagle3.json --gpu h100 --alpha 0.7"
)
DRAFT = HEAD.replace("llama-3.1-8b-eagle3", "llama-3.2-1b")
RUNS = "--run gamma=0,tpot=7.1 --run gamma=3,tpot=4.1"
REQUESTS = "--prompt-tokens 500 --output-tokens 200"
COMMANDS = {
    "plan": "plan --alpha 0.8 --c 0.05",
    "plan from two runs": f"plan {RUNS},rates=0.82/0.61/0.42",
    "plan from two runs, a fit": f"plan {RUNS},length=2.6",
    "plan of a head": f"plan {HEAD} --engine vllm",
    "plan of a draft model": f"plan {DRAFT} --engine vllm",
    "plan of another vocabulary": (
        "plan --target-config FOLDER/target.json --draft-config FOLDER/target.json --gpu h200 "
        "--tp 8 --alpha 0.7"
    ),
    "128 batches of a head": f"plan {HEAD} --engine vllm --batch 1:128:1 --export vllm",
    "128 batches of a draft": f"plan {DRAFT} --engine vllm --batch 1:128:1 --export vllm",
    "traffic, 16 rates": f"traffic {HEAD} --rate 1:16:1 {REQUESTS}",
    "traffic of a draft": f"traffic {DRAFT} --rate 1 {REQUESTS}",
    "size": (
        f"size --target-config {CONFIGS}/llama-3.1-8b.json --gpu h100 --gpus-per-replica 1 --draft "
        f"config={CONFIGS}/llama-3.1-8b-eagle3.json,alpha=0.7 --engine vllm --rate 10 {REQUESTS} "
        "--slo ttft=500,tpot=8"
    ),
    "observe": "observe scripts/golden/files/vllm.log --c 0.05",
    "tune --dry-run": "tune --engine llama.cpp --dry-run",
    "missing prompts": "validate --prompts none.txt",
    "figure of theory": "figures leviathan-fig3 -o FOLDER",
    "all figures": "figures -o FOLDER",
}


def seconds(words: list[str], checkout: Path) -> float:
    """Returns the processor seconds that a program takes in a checkout, from start to end."""
    before = getrusage(RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    environment.pop(
        "PYTHONDONTWRITEBYTECODE", None
    )  # compiled modules are kept, as users keep them
    subprocess.run(words, cwd=checkout, capture_output=True, env=environment, check=False)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--other", type=Path, help="another checkout, to compare with")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="names of commands")
    options = parser.parse_args()
    checkouts = [ROOT] if options.other is None else [ROOT, options.other.absolute()]
    commands = {name: words for name, words in COMMANDS.items() if fnmatch(name, options.only)}
    imports: dict[str, list[float]] = {name: [] for name in commands}
    times: dict[tuple[str, Path], list[float]] = {}
    with TemporaryDirectory() as folder:
        sizes = json.loads((ROOT / CONFIGS / "deepseek-v3.json").read_text(encoding="utf-8"))
        for _ in range(1 + options.turns):  # the first turn compiles modules, and is not counted
            target = {**sizes, "vocab_size": randrange(100_000, 200_000)}  # in no cache
            (Path(folder) / "target.json").write_text(json.dumps(target), encoding="utf-8")
            for name, command in commands.items():
                imports[name].append(seconds([sys.executable, "-c", "import numpy"], ROOT))
                for checkout in checkouts:
                    arguments = shlex.split(command.replace("FOLDER", folder))
                    taken = seconds([sys.executable, "-m", "specplan", *arguments], checkout)
                    times.setdefault((name, checkout), []).append(taken)
    every = [value for of_one in imports.values() for value in of_one[1:]]
    print(f"import numpy: {median(every):.2f} s of processor time")
    for name in commands:
        here, *there = (median(times[name, checkout][1:]) for checkout in checkouts)
        pairs = zip(times[name, ROOT][1:], imports[name][1:], strict=True)
        ratio = median(command / numpy for command, numpy in pairs)
        compared = f"  {there[0]:6.2f} s elsewhere, {there[0] / here:5.2f} ×" if there else ""
        print(f"{name:26s} {here:6.2f} s, {ratio:5.1f} × numpy{compared}")


if __name__ == "__main__":
    main()
