"""Twins of a pair: caches of their own over weights that all share, so that texts take turns."""

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence

import psutil
import torch
from torch import Tensor, nn

from reference.drafter import Drafter
from reference.models.compiled_model import OneCacheError
from reference.models.model import Model

Pair = tuple[Model, Drafter]

# Of the memory that is free: what else grows meanwhile has the rest.
SHARE_OF_FREE = 0.5


@torch.inference_mode()
def duplicates(pair: Pair, count: int, *, longer: float) -> list[Pair]:
    """Returns the pair and twins of it: as many as fit the memory, just the pair where none can be.

    A twin decodes as the pair does, from the same weights and tables, and what it caches, counts
    and times is its own. A compiled model has programs for the one cache that it has, and no twin.

    Args:
      pair: has decoded a text, so that its caches tell what a twin takes.
      count: of pairs wanted, at least 1.
      longer: how many times the longest text is as long as that one.
    """
    each = longer * sum(held.nbytes for held in _parts(pair) if isinstance(held, Tensor))
    room = SHARE_OF_FREE * free_bytes(pair[0].device)
    fitting = int(min(count - 1, room / max(each, 1.0)))
    try:
        return [pair, *(_twin(pair) for _ in range(fitting))]
    except OneCacheError:
        return [pair]


def free_bytes(device: torch.device) -> float:
    """Returns how much memory is free on a device, what the system would give back among it."""
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    return float(psutil.virtual_memory().available)


def _twin(pair: Pair) -> Pair:
    shared = [part for part in _parts(pair) if isinstance(part, nn.Module)]
    return copy.deepcopy(pair, {id(part): part for part in shared})


def _parts(whole: object) -> Iterator[object]:
    """Yields whatever an object holds, each once, modules and tensors as wholes."""
    seen: set[int] = set()
    waiting = [whole]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        waiting += _held(part)


def _held(part: object) -> Iterable[object]:
    if isinstance(part, nn.Module | Tensor | str | bytes | type):
        return ()
    if isinstance(part, Mapping):
        return part.values()
    if isinstance(part, Sequence | set):
        return () if part and isinstance(next(iter(part)), int) else part
    return getattr(part, "__dict__", {}).values()
