"""Duplicates of a pair: separate caches over shared weights, so that texts can take turns."""

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence

import psutil
import torch
from torch import Tensor, nn

from reference.drafter import Drafter
from reference.models.compiled_model import OneCacheError
from reference.models.model import Model

Pair = tuple[Model, Drafter]

# Share of free memory to use; the rest is for other growth.
SHARE_OF_FREE = 0.5


@torch.inference_mode()
def duplicates(pair: Pair, count: int, *, longer: float) -> list[Pair]:
    """Returns the pair and duplicates of it, as many as fit the memory.

    A duplicate shares weights and tables, and has its own caches, counts and times. A compiled
    model cannot be duplicated, because its programs are bound to its one cache.

    pair: has decoded a text, so that the size of its caches is known.
    count: number of pairs wanted, at least 1.
    longer: length of the longest text over the length of the decoded one.
    """
    each = longer * sum(held.nbytes for held in _parts(pair) if isinstance(held, Tensor))
    available = SHARE_OF_FREE * free_bytes(pair[0].device)
    fitting = int(min(count - 1, available / max(each, 1.0)))
    shared = [part for part in _parts(pair) if isinstance(part, nn.Module)]
    try:
        return [pair, *(copy.deepcopy(pair, {id(p): p for p in shared}) for _ in range(fitting))]
    except OneCacheError:
        return [pair]


def free_bytes(device: torch.device) -> float:
    """Returns the free memory of a device, including memory that the system can release."""
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    return float(psutil.virtual_memory().available)


def _parts(whole: object) -> Iterator[object]:
    """Yields every object inside an object, once each; modules and tensors are not opened."""
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
