"""The processes that measure together when torchrun starts several; usually there is one."""

import atexit
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Processes:
    """This process among `count`, of which `here` run on this machine; it exchanges small objects.

    number: index of this process, from 0.
    """

    number: int = 0
    count: int = 1
    here: int = 1

    @property
    def first(self) -> bool:
        """Whether this is process 0, which writes files, measures times and prints."""
        return self.number == 0

    def gathered(self, own: T) -> list[T]:
        """Returns the picklable objects of all processes, in order; each process must call this."""
        if self.count == 1:
            return [own]
        from torch.distributed import all_gather_object

        every: list[Any] = [None] * self.count
        all_gather_object(every, own)
        return every

    def shared(self, own: Iterable[T]) -> Iterator[T]:
        """Yields the objects of all processes in order; in a single process, one by one."""
        if self.count == 1:
            yield from own
            return
        for made in self.gathered(list(own)):
            yield from made


ALONE = Processes()


def launched() -> int:
    """Returns the number of processes that torchrun started (WORLD_SIZE); 1 without torchrun."""
    text = os.environ.get("WORLD_SIZE", "1")
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"WORLD_SIZE must be a number of processes, at least 1, got {text}")
    return int(text)


def these_processes() -> Processes:
    """Returns this process among those that torchrun started, connected with the others."""
    if launched() == 1:
        return ALONE
    here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    _require_gpus(here)
    from reference.training.loop import this_process

    process = this_process()
    atexit.register(process.destroy_process_group)
    return Processes(process.process_index, process.num_processes, here)


def require_one_process(command: str) -> None:
    """Refuses to run a command in several processes, each of which would do all of the work."""
    count = launched()
    if count > 1:
        raise ValueError(f"{command} must run in one process, got {count} (WORLD_SIZE)")


def _require_gpus(here: int) -> None:
    import torch

    gpus = torch.cuda.device_count()
    if 0 < gpus < here:
        raise ValueError(
            f"processes must be at most as many as the machine's GPUs, got {here} on {gpus}"
        )
