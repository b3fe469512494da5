"""A schedule: the draft length for each batch size, as ranges that servers accept."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from simulator.numerics.arguments import integer

_NONE: Mapping[int, Collection[int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Range:
    """Batch sizes with one draft length.

    first_batch, last_batch: both included.
    gamma: drafted tokens per block; 0: do not speculate.
    """

    first_batch: int
    last_batch: int
    gamma: int


def schedule(
    gammas: Mapping[int, int], near: Mapping[int, Collection[int]] = _NONE
) -> tuple[Range, ...]:
    """Returns ranges of batch sizes with one γ each, from 1 to the largest planned batch size.

    A batch size between two planned ones gets the γ of the larger: long drafts cost most where the
    load is highest. A range is extended while its γ is near the best γ of the batch.

    Args:
      gammas: γ by batch size, each batch size at least 1.
      near: by batch size, each γ whose loss against the best is negligible.

    Raises ValueError if there is no batch size, or a number is out of range.
    """
    if not gammas:
        raise ValueError("gammas must have at least one batch size, got none")
    ranges: list[Range] = []
    first = 1
    for batch in sorted(integer("batch", each, at_least=1) for each in gammas):
        gamma = integer("gamma", gammas[batch])
        if ranges and ranges[-1].gamma in {gamma, *near.get(batch, ())}:
            ranges[-1] = Range(ranges[-1].first_batch, batch, ranges[-1].gamma)
        else:
            ranges.append(Range(first, batch, gamma))
        first = batch + 1
    return tuple(ranges)


def last_paying_batch(ranges: tuple[Range, ...]) -> int | None:
    """Returns the largest batch size with a draft; None if the schedule never drafts."""
    paying = [each.last_batch for each in ranges if each.gamma > 0]
    return paying[-1] if paying else None
