"""Which of the processes that train together this one is."""

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from accelerate import PartialState


def this_process() -> "PartialState":
    """Returns accelerate's state: number and count of processes, the main one, who waits for whom.

    Without a GPU accelerate knows of several processes (torchrun's, gloo between them) only when
    told that they run on CPUs; each would take itself for the only one.
    """
    # Imported here: it takes long, and most that import this module's neighbours never train.
    from accelerate import PartialState

    return PartialState(cpu=not torch.cuda.is_available())
