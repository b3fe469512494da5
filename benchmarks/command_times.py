"""Times of whole commands, as multiples of the time in which this Python imports numpy.

    python benchmarks/command_times.py --turns 5 [--other CHECKOUT]

Each turn runs every command once, in this checkout and in the other one, and imports numpy once.
So other work on the machine reaches all alike. Printed are medians over the turns: seconds,
multiples of the import, and the other checkout's seconds over this one's.
"""

import argparse
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
PAIR = (
    "--target-config docs/configs/llama-3.1-8b.json "
    "--draft-config docs/configs/llama-3.1-8b-eagle3.json --gpu h100"
)
COMMANDS = {
    "plan": "plan --alpha 0.8 --c 0.05",
    "plan from two runs": (
        "plan --run gamma=0,tpot=7.1 --run gamma=3,tpot=4.1,rates=0.82/0.61/0.42"
    ),
    "plan on a GPU": f"plan {PAIR} --alpha 0.7 --engine vllm",
    "plan of 128 batches": f"plan {PAIR} --alpha 0.7 --engine vllm --batch 1:128:1 --export vllm",
    "traffic, 16 rates": (
        f"traffic {PAIR} --alpha 0.7 --rate 1:16:1 --prompt-tokens 500 --output-tokens 200"
    ),
    "tune --dry-run": "tune --engine llama.cpp --dry-run",
    "prompts that are missing": "validate --prompts none.txt",
}


def seconds(words: list[str], checkout: Path) -> float:
    """Returns the seconds that a program takes in a checkout, from start to end."""
    began = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    subprocess.run(words, cwd=checkout, capture_output=True, env=environment, check=False)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--other", type=Path, help="another checkout, to compare with")
    options = parser.parse_args()
    checkouts = [ROOT] if options.other is None else [ROOT, options.other.absolute()]
    numpy: list[float] = []
    times: dict[tuple[str, Path], list[float]] = {}
    for _ in range(options.turns):
        numpy.append(seconds([sys.executable, "-c", "import numpy"], ROOT))
        for name, command in COMMANDS.items():
            for checkout in checkouts:
                words = [sys.executable, "-m", "specplan", *shlex.split(command)]
                times.setdefault((name, checkout), []).append(seconds(words, checkout))
    print(f"import numpy: {median(numpy):.2f} s")
    for name in COMMANDS:
        here, *there = (median(times[name, checkout]) for checkout in checkouts)
        compared = f"  {there[0]:6.2f} s elsewhere, {there[0] / here:5.2f} ×" if there else ""
        print(f"{name:26s} {here:6.2f} s, {here / median(numpy):5.1f} × numpy{compared}")


if __name__ == "__main__":
    main()
