"""How many threads compute: as many as cores are free, less one for everything else.

A thread that waits for another waits for whatever else that one's core does. So a pass on as many
threads as there are cores takes as long as the busiest core lets it, and short passes more so than
long ones, which no ratio of times survives.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

STATISTICS = Path("/proc/stat")
QUOTA = Path("/sys/fs/cgroup/cpu.max")
# Of which the machine's load is the mean: a hundred ticks of Linux's clock on two cores.
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
    """Returns how many of the cores that this process may use others leave free, as of now.

    Where the system counts no ticks, the load average of the last minute stands in; where it has
    none, all are taken to be free.
    """
    own = _own_cores()
    before = _idle(own)
    if before is not None:
        time.sleep(WATCHED_SECONDS)
        after = _idle(own)
        ticks = [] if after is None else [
            (late[0] - early[0], late[1] - early[1])
            for early, late in zip(before, after, strict=True)
        ]
        return min(_allowed(), sum(idle / every for idle, every in ticks if every > 0))
    if hasattr(os, "getloadavg"):
        return min(_allowed(), max(0.0, len(own) - os.getloadavg()[0]))
    return float(len(own))


def _own_cores() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return set(os.sched_getaffinity(0))
    return set(range(os.cpu_count() or 1))


def _allowed() -> float:
    """Returns how many cores a container may use at once."""
    try:
        quota, period = QUOTA.read_text().split()
        return float(quota) / float(period)
    except (OSError, ValueError):   # there is none, or it is "max"
        return float("inf")


def _idle(cores: set[int]) -> list[tuple[int, int]] | None:
    """Returns idle ticks and all ticks of each core so far; None where they are not counted."""
    try:
        lines = [line.split() for line in STATISTICS.read_text().splitlines()]
    except OSError:
        return None
    ticks = {line[0]: [int(count) for count in line[1:9]] for line in lines if line[0][:3] == "cpu"}
    own = [ticks[f"cpu{core}"] for core in sorted(cores) if f"cpu{core}" in ticks]
    # user, nice, system, idle, waiting for a disk, interrupts, …, taken by the host's others
    return [(counts[3] + counts[4], sum(counts)) for counts in own] or None
