"""Runs tests with the arithmetic of three other processors, as far as this one can play them.

    python scripts/kernels.py tests/simulator --ignore=tests/simulator/choice/test_regret.py

A library adds numbers in the order that suits the processor, so the last bits of a sum, of exp and
of log differ between machines, and a test that rests on them passes on one maker's processors only.
OpenBLAS (under NumPy and SciPy), NumPy's own loops, PyTorch and MKL each have a variable that makes
them take the code of another processor. Each processor below is played by a pytest of its own, with
one thread and with two in turn; --every plays each with both, and this processor, too, which any
other run of the tests plays. One that OpenBLAS answers with the kernel of another, or whose
instructions this processor lacks, gives its place to the next. The exit status is 0 if every run
passed.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import numpy as np

KERNELS = 3
THREADS = (1, 2)

# Products large enough for every kind of kernel: an instruction that is missing ends the process.
ASK = """
import numpy as np, scipy.linalg, threadpoolctl
a = np.random.default_rng(0).random((65, 65))
a @ a, a @ a[0], a[0] @ a[0], scipy.linalg.lu_factor(a)
print(*sorted({library["architecture"] for library in threadpoolctl.threadpool_info()
               if library["internal_api"] == "openblas"}))
"""


@dataclass(frozen=True, slots=True)
class Processor:
    """Each library's name for the code of one processor.

    openblas: its name for the kernel.
    numpy: the groups of vector instructions beyond NumPy's baseline.
    torch, mkl: the level, as ATEN_CPU_CAPABILITY and MKL_CBWR name it.
    """

    openblas: str
    numpy: frozenset[str]
    torch: str
    mkl: str

    def environment(self, threads: int) -> dict[str, str]:
        """Returns the variables that play it with a number of threads."""
        here = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
        return {
            **os.environ,
            "OPENBLAS_CORETYPE": self.openblas,
            "NPY_DISABLE_CPU_FEATURES": " ".join(g for g in here if g not in self.numpy),
            "ATEN_CPU_CAPABILITY": self.torch,
            "MKL_CBWR": self.mkl,
            "OPENBLAS_NUM_THREADS": str(threads),
            "OMP_NUM_THREADS": str(threads),
            "MKL_NUM_THREADS": str(threads),
        }


PROCESSORS = [
    Processor("Haswell", frozenset({"X86_V3"}), "avx2", "AVX2"),
    Processor("SkylakeX", frozenset({"X86_V3", "X86_V4"}), "avx512", "AVX512"),
    Processor("Zen", frozenset({"X86_V3"}), "avx2", "AVX2"),
    Processor("Prescott", frozenset(), "default", "COMPATIBLE"),
    Processor("Sandybridge", frozenset(), "default", "AVX"),
    Processor("Nehalem", frozenset(), "default", "SSE4_2"),
]


def kernels(environment: Mapping[str, str]) -> str:
    """Returns the names of the kernels that OpenBLAS takes; empty where they do not run here."""
    ran = subprocess.run(
        [sys.executable, "-c", ASK], env=environment, capture_output=True, text=True
    )
    return ran.stdout.strip() if ran.returncode == 0 else ""


def playable(*known: str) -> Iterator[Processor]:
    """Yields the processors whose kernels this one runs, all distinct and none of them `known`."""
    seen = {"", *known}
    for processor in PROCESSORS:
        used = kernels(processor.environment(1))
        if used not in seen:
            seen.add(used)
            yield processor


def tested(processor: Processor, threads: int, tests: list[str]) -> bool:
    """Returns whether pytest passed; one line says how, and all that it printed if it did not.

    tests: folders, files and options of pytest.
    """
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests],
        env=processor.environment(threads),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    name = f"{processor.openblas}, {threads} thread{'' if threads == 1 else 's'}"
    if run.returncode == 0:
        print(f"{name}: passed", flush=True)
    else:
        print(f"{name}: FAILED\n{run.stdout}", flush=True)
    return run.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tests", nargs="+", help="folders or files, and options of pytest")
    parser.add_argument(
        "--every", action="store_true", help="each, and this one, with one thread and with two"
    )
    stated, options = parser.parse_known_args()
    others = playable() if stated.every else playable(kernels(os.environ))
    chosen = list(islice(others, KERNELS + stated.every))
    if len(chosen) < KERNELS:
        print(f"only {len(chosen)} of {KERNELS} kernels: NumPy has no more that run here")
    plays = [
        (processor, threads)
        for place, processor in enumerate(chosen)
        for turn, threads in enumerate(THREADS)
        if stated.every or place % len(THREADS) == turn
    ]
    # A second thread has little to do in the small arrays of tests.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        passed = list(pool.map(lambda play: tested(*play, [*stated.tests, *options]), plays))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
