"""The threads and processes that compute.

Threads of one pass wait for each other, so a pass takes as long as the busiest core needs, and
short passes suffer most. So the number of threads is the number of free cores minus 1.
"""

import atexit
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

T = TypeVar("T")

QUOTA = Path("/sys/fs/cgroup/cpu.max")
# Period over which the load is averaged: fifty ticks of Linux's clock.
WATCHED_SECONDS = 0.5
# If this variable is set, the user has chosen a number of threads.
CHOSEN_BY = "OMP_NUM_THREADS"


@dataclass(frozen=True, slots=True)
class Threads:
    """The number of computing threads (`count`), and how it was chosen.

    cores: number of cores that this process may use.
    free: number of cores that were free before the run; None if the user chose `count`.
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
    """Returns OMP_NUM_THREADS threads if set, else free cores minus 1, between 1 and `most`."""
    cores, chosen = len(own_cores()), os.environ.get(CHOSEN_BY, "")
    if chosen.isdecimal() and int(chosen) > 0:
        return Threads(int(chosen), cores)
    free = free_cores()
    # Half a core in use is noise of the reading, or normal background.
    return Threads(max(1, min(most, round(free) - 1)), cores, free)


def chosen_threads(requested: int | None) -> int:
    """Returns the requested number of threads; for None, the number of free cores minus 1."""
    return free_threads(most=os.cpu_count() or 1).count if requested is None else requested


def process_pool(processes: int) -> "ProcessPoolExecutor":
    """Returns a pool of processes. Forked processes have what this one has imported and loaded.

    On other systems than Linux, each process is a new one: macOS has libraries that fail in a
    forked process.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    return ProcessPoolExecutor(processes, context)


@contextmanager
def computing(device: str, requested: int | None) -> Iterator[Threads]:
    """Sets PyTorch's number of threads inside the block.

    device: auto, cpu or cuda; on a GPU the number hardly matters.
    requested: number of threads; None: the number of free cores minus 1 on a CPU.
    """
    import torch

    before = torch.get_num_threads()
    if requested is None and (device == "cuda" or (device == "auto" and torch.cuda.is_available())):
        requested = before
    if requested is None:
        threads = free_threads(most=before)
    else:
        threads = Threads(requested, len(own_cores()))
    torch.set_num_threads(threads.count)
    try:
        yield threads
    finally:
        torch.set_num_threads(before)


def free_cores() -> float:
    """Returns how many of this process's cores other programs leave free now."""
    import psutil

    cores, busy = own_cores(), psutil.cpu_percent(interval=WATCHED_SECONDS, percpu=True)
    free = sum(1 - float(percent) / 100 for core, percent in enumerate(busy) if core in cores)
    try:  # a container may use fewer
        quota, period = QUOTA.read_text().split()
        return min(float(quota) / float(period), free)
    except (OSError, ValueError):  # there is no quota, or it is "max"
        return free


def own_cores() -> set[int]:
    """Returns the cores that this process may use."""
    everywhere = range(os.cpu_count() or 1)
    return set(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else everywhere)


@dataclass(frozen=True, slots=True)
class Processes:
    """This process and the processes that torchrun started.

    number: index of this process, from 0.
    count, here: number of processes on all machines, and on this machine.
    """

    number: int = 0
    count: int = 1
    here: int = 1

    @property
    def first(self) -> bool:
        """Whether this is process 0, which writes files, measures times and prints."""
        return self.number == 0

    def gathered(self, value: T) -> list[T]:
        """Returns the `own` of every process, in order; all processes must call this method."""
        if self.count == 1:
            return [value]
        from torch.distributed import all_gather_object

        every: list[Any] = [None] * self.count
        all_gather_object(every, value)
        return every

    def shared(self, values: Iterable[T]) -> Iterator[T]:
        """Returns the objects in `own` of all processes; a single process reads its own lazily."""
        return iter(values) if self.count == 1 else chain.from_iterable(self.gathered(list(values)))


ALONE = Processes()


def launched() -> int:
    """Returns the number of processes that torchrun started (WORLD_SIZE); 1 without torchrun."""
    text = os.environ.get("WORLD_SIZE", "1")
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"WORLD_SIZE must be a number of processes, at least 1, got {text}")
    return int(text)


def these_processes() -> Processes:
    """Connects all processes that torchrun started, and returns which one this is."""
    if launched() == 1:
        return ALONE
    import torch

    here, gpus = int(os.environ.get("LOCAL_WORLD_SIZE", "1")), torch.cuda.device_count()
    if 0 < gpus < here:
        raise ValueError(
            f"processes must be at most as many as the machine's GPUs, got {here} on {gpus}"
        )
    from reference.training.loop import this_process

    process = this_process()
    atexit.register(process.destroy_process_group)
    return Processes(process.process_index, process.num_processes, here)


def require_one_process(command: str) -> None:
    """Raises ValueError if several processes run a command that cannot share its work."""
    count = launched()
    if count > 1:
        raise ValueError(f"{command} must run in one process, got {count} (WORLD_SIZE)")
