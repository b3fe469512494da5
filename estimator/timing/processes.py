"""The processes that measure together, as torchrun starts them; mostly there is one."""

import atexit
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Processes:
    """Which of how many processes this is, and what goes between them: few and small objects.

    number: from 0, the first, which keeps, times and tells.
    count: at least 1.
    here: how many of them are on this machine.
    """

    number: int = 0
    count: int = 1
    here: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the process that keeps, times and tells."""
        return self.number == 0

    def gathered(self, own: T) -> list[T]:
        """Returns what each process gives, in their order; every process must call this.

        Args:
          own: what this one gives, which must be possible to pickle.
        """
        if self.count == 1:
            return [own]
        from torch.distributed import all_gather_object

        every: list[Any] = [None] * self.count
        all_gather_object(every, own)
        return every

    def shared(self, own: Iterable[T]) -> Iterator[T]:
        """Yields what all processes make, in their order; alone, each thing as it is made."""
        if self.count == 1:
            yield from own
            return
        for made in self.gathered(list(own)):
            yield from made


ALONE = Processes()


def launched() -> int:
    """Returns how many processes torchrun started; 1 where this one was not started by it.

    Raises:
      ValueError: if the environment's WORLD_SIZE is no number of processes.
    """
    text = os.environ.get("WORLD_SIZE", "1")
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"WORLD_SIZE must be a number of processes, at least 1, got {text}")
    return int(text)


def these_processes() -> Processes:
    """Returns this process among those that torchrun started, connected to the others.

    Raises:
      ValueError: if WORLD_SIZE is no number of processes, or torchrun's other variables are not
        set, or this machine has GPUs, but not one for each of its processes.
    """
    if launched() == 1:
        return ALONE
    here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    _require_gpus(here)
    from reference.training.loop import this_process

    process = this_process()
    atexit.register(process.destroy_process_group)
    return Processes(process.process_index, process.num_processes, here)


def require_one_process(command: str) -> None:
    """Refuses a command of which every process would do the whole.

    Args:
      command: its name.

    Raises:
      ValueError: if torchrun started several processes.
    """
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
