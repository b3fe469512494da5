"""The number of computing threads: the number of free cores, less one for everything else.

Threads of one pass wait for each other. With as many threads as cores, a pass takes as long as the
busiest core needs, and short passes suffer more than long ones, which distorts all ratios of times.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

QUOTA = Path("/sys/fs/cgroup/cpu.max")
# Period over which the load is averaged: fifty ticks of Linux's clock.
WATCHED_SECONDS = 0.5
# If this variable is set, the user has chosen a number of threads.
CHOSEN_BY = "OMP_NUM_THREADS"


@dataclass(frozen=True, slots=True)
class Threads:
    """The number of computing threads.

    cores: number of cores that this process may use.
    free: number of these that were free before the run; None if the user chose the number.
    """

    count: int
    cores: int
    free: float | None = None

    @property
    def sentence(self) -> str:
        threads = "1 thread" if self.count == 1 else f"{self.count} threads"
        if self.free is None:
            return f"{threads}, as requested."
        return f"{threads}: {self.free:.1f} of {self.cores} cores were free before the run."


def free_threads(*, most: int) -> Threads:
    """Returns the number of cores that are free now, less one, but at least 1."""
    cores = len(_own_cores())
    chosen = os.environ.get(CHOSEN_BY, "")
    if chosen.isdecimal() and int(chosen) > 0:
        return Threads(int(chosen), cores)
    free = free_cores()
    # Half a core in use is noise of the reading, or normal background.
    return Threads(max(1, min(most, round(free) - 1)), cores, free)


def chosen_threads(requested: int | None) -> int:
    """Returns the number of threads: the requested one, else the number of free cores less one."""
    return free_threads(most=os.cpu_count() or 1).count if requested is None else requested


@contextmanager
def computing(device: str, requested: int | None) -> Iterator[Threads]:
    """Sets PyTorch's number of threads inside the block.

    device: auto, cpu or cuda; on a GPU the number hardly matters.
    requested: number of threads, at least 1; None: the number of free cores, less one.
    """
    import torch

    before = torch.get_num_threads()
    on_gpu = device == "cuda" or (device == "auto" and torch.cuda.is_available())
    if requested is not None or on_gpu:
        threads = Threads(before if requested is None else requested, len(_own_cores()))
    else:
        threads = free_threads(most=before)
    torch.set_num_threads(threads.count)
    try:
        yield threads
    finally:
        torch.set_num_threads(before)


def free_cores() -> float:
    """Returns the number of cores available to this process that others leave free now."""
    import psutil

    busy = psutil.cpu_percent(interval=WATCHED_SECONDS, percpu=True)
    own = _own_cores()
    free = sum(1 - float(each) / 100 for core, each in enumerate(busy) if core in own)
    return min(_allowed(), free)


def _own_cores() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def _allowed() -> float:
    """Returns the number of cores that a container may use."""
    try:
        quota, period = QUOTA.read_text().split()
        return float(quota) / float(period)
    except (OSError, ValueError):  # there is none, or it is "max"
        return float("inf")
