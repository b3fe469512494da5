"""How many threads compute: as many as cores are free, less one for everything else.

A thread that waits for another waits for whatever else that one's core does. So a pass on as many
threads as there are cores takes as long as the busiest core lets it, and short passes more so than
long ones, which no ratio of times survives.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

QUOTA = Path("/sys/fs/cgroup/cpu.max")
# Of which the machine's load is the mean: fifty ticks of Linux's clock.
WATCHED_SECONDS = 0.5
# Whoever sets it chose a number of threads.
CHOSEN_BY = "OMP_NUM_THREADS"


@dataclass(frozen=True, slots=True)
class Threads:
    """How many threads compute.

    cores: that this process may use.
    free: how many of these were free before the run; None where the number was asked for.
    """

    count: int
    cores: int
    free: float | None = None

    @property
    def sentence(self) -> str:
        """What a report says of them."""
        threads = "1 thread" if self.count == 1 else f"{self.count} threads"
        if self.free is None:
            return f"{threads}, as asked for."
        return f"{threads}: {self.free:.1f} of {self.cores} cores were free before the run."


def free_threads(*, most: int) -> Threads:
    """Returns as many threads as cores are free now, one left to everything else; at least 1."""
    cores = len(_own_cores())
    chosen = os.environ.get(CHOSEN_BY, "")
    if chosen.isdecimal() and int(chosen) > 0:
        return Threads(int(chosen), cores)
    free = free_cores()
    # Half a core in use is noise of the reading, and background that any machine has.
    return Threads(max(1, min(most, round(free) - 1)), cores, free)


def chosen_threads(asked: int | None) -> int:
    """Returns how many threads compute: as many as asked for, else as cores are free now."""
    return free_threads(most=os.cpu_count() or 1).count if asked is None else asked


@contextmanager
def computing(device: str, asked: int | None) -> Iterator[Threads]:
    """Lets PyTorch compute by as many threads as asked for, or as are free, while it lasts.

    Args:
      device: auto, cpu or cuda, as a user names it: on a GPU threads of this machine say little.
      asked: at least 1; None: as many as are free.
    """
    import torch

    before = torch.get_num_threads()
    on_gpu = device == "cuda" or (device == "auto" and torch.cuda.is_available())
    if asked is not None or on_gpu:
        threads = Threads(before if asked is None else asked, len(_own_cores()))
    else:
        threads = free_threads(most=before)
    torch.set_num_threads(threads.count)
    try:
        yield threads
    finally:
        torch.set_num_threads(before)


def free_cores() -> float:
    """Returns how many of the cores that this process may use others leave free, as of now."""
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
    """Returns how many cores a container may use at once."""
    try:
        quota, period = QUOTA.read_text().split()
        return float(quota) / float(period)
    except (OSError, ValueError):  # there is none, or it is "max"
        return float("inf")
