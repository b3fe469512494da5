"""The accepted length by context, from requests whose prompts were counted."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from engines.observing.alphas import RequestCounts
from simulator.acceptance.accepted import Accepted
from simulator.numerics.intervals import deviations


class AtContext(NamedTuple):
    """The accepted length of requests with similar contexts.

    first, last: smallest and largest context, in tokens: the prompt and half of the output.
    length: mean tokens per target call, with its interval [low, high].
    """

    first: int
    last: int
    requests: int
    drafts: int
    length: float
    low: float
    high: float


def by_context(requests: Sequence[RequestCounts], gamma: int) -> tuple[AtContext, ...]:
    """Returns the accepted length for each doubling of the context, smallest context first.

    Returns () if all contexts lie within one doubling, or if none is known.

    gamma: drafted tokens per block.
    """
    groups = defaultdict[int, list[RequestCounts]](list)
    for request in requests:
        if request.context is not None:
            groups[max(request.context, 1).bit_length()].append(request)
    if len(groups) < 2:
        return ()
    return tuple(_of_group(groups[size], gamma) for size in sorted(groups))


def _of_group(group: Sequence[RequestCounts], gamma: int) -> AtContext:
    contexts = [request.context for request in group if request.context is not None]
    drafts = sum(request.drafts for request in group)
    length = 1 + sum(request.accepted for request in group) / drafts
    variance = Accepted(gamma, length, drafts=drafts).noise()[-1, -1]
    ratio = math.exp(deviations() * math.sqrt(variance))
    ends = (max(length / ratio, 1.0), min(length * ratio, gamma + 1.0))
    return AtContext(min(contexts), max(contexts), len(group), drafts, length, *ends)
