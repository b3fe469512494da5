"""Which of the processes that work together this one is."""

from datetime import timedelta
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from accelerate import PartialState

PATIENCE = timedelta(days=7)
"""How long the others wait for what one process does alone, such as writing the large texts."""


def this_process() -> "PartialState":
    """Returns accelerate's state: number and count of processes, the main one, who waits for whom.

    Without a GPU accelerate knows of several processes (torchrun's, gloo between them) only when
    told that they run on CPUs; each would take itself for the only one.
    """
    # Imported here: it takes long, and most that import this module's neighbours never train.
    from accelerate import PartialState

    return PartialState(cpu=not torch.cuda.is_available(), timeout=PATIENCE)


def require_equal_shares(rows: int, *, processes: int) -> None:
    """Refuses a batch that processes cannot share equally: their gradients' mean would not be its.

    Raises:
      ValueError: if one would have more rows than another.
    """
    if rows % processes != 0:
        raise ValueError(
            f"a batch must have as many rows for each of {processes} processes, got {rows}"
        )
