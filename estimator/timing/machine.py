"""The machine that measures, in words: its GPUs, its processor, and the number of cores."""

import platform
import shutil
import subprocess
from collections import Counter
from datetime import date
from pathlib import Path

from estimator.timing.threads import own_cores

_SECONDS = 10.0
_CPUINFO = Path("/proc/cpuinfo")


def machine() -> str:
    """Returns the GPUs and the processor of this machine, such as "AMD EPYC, 2 cores"."""
    cores = len(own_cores())
    named = f"{_processor()}, {cores} core{'s' * (cores > 1)}"
    return ", ".join([*_gpus(), named])


def measured_today(prompts: int, *, timings: int, where: str | None = None) -> str:
    """Returns the evidence of a measurement that ends now; where: None: on this machine."""
    times = "once" if timings == 1 else f"{timings} times each"
    some = "1 prompt" if prompts == 1 else f"{prompts} prompts"
    return f"Rests on {some}, timed {times} on {where or machine()}, {date.today()}."


def _processor() -> str:
    """Returns the processor's name, or its architecture if the system names no processor.

    Linux names it in a file, macOS by a program.
    """
    lines = _CPUINFO.read_text(encoding="utf-8").splitlines() if _CPUINFO.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    names = names or _printed_lines("sysctl", "-n", "machdep.cpu.brand_string")
    return next(iter(names), platform.processor() or platform.machine())


def _gpus() -> list[str]:
    """Returns the names of NVIDIA's GPUs with their numbers; [] without the driver's program."""
    # Without a driver, the program fails.
    counts = Counter(_printed_lines("nvidia-smi", "--query-gpu=name", "--format=csv,noheader"))
    return [name if count == 1 else f"{count} of {name}" for name, count in counts.items()]


def _printed_lines(name: str, *arguments: str) -> list[str]:
    """Returns the lines that a program prints; [] if it is not installed or fails."""
    program = shutil.which(name)
    if program is None:
        return []
    words = [program, *arguments]
    try:
        result = subprocess.run(words, capture_output=True, text=True, check=True, timeout=_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return []
    return [line for line in map(str.strip, result.stdout.splitlines()) if line]
