"""Acceptance by context: the tokens before a block, of the prompt and of the text so far."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from estimator.intervals import rate, ratio_interval
from estimator.profiles.parts import Alpha, ContextAcceptance
from estimator.traces.traces import Trace
from simulator.numerics.intervals import CONFIDENCE

# A doubling of the context with fewer tokens, or of a single prompt, joins the next one.
LEAST_TOKENS = 256
LEAST_PROMPTS = 2

Integers = NDArray[np.int64]


def doublings(contexts: Sequence[Integers]) -> list[tuple[int, int]]:
    """Returns the ranges (first, last) of contexts into which all positions are divided.

    A range is one doubling, such as 64 to 127, or several where positions are few.

    contexts: context of each position, by prompt; at least one position.
    """
    every = np.concatenate(contexts)
    prompts = np.repeat(np.arange(len(contexts)), [len(places) for places in contexts])
    ranges: list[tuple[int, int]] = []
    first = 0
    for bits in range(int(every.max()).bit_length() + 1):
        last = 2**bits - 1
        inside = (first <= every) & (every <= last)
        if inside.sum() >= LEAST_TOKENS and len(np.unique(prompts[inside])) >= LEAST_PROMPTS:
            ranges.append((first, last))
            first = last + 1
    largest = int(every.max())
    if not ranges:
        return [(0, largest)]
    return [*ranges[:-1], (ranges[-1][0], max(ranges[-1][1], largest))]


def at_contexts(
    traces: Sequence[Trace], prompts: Sequence[int], max_gamma: int
) -> tuple[ContextAcceptance, ...]:
    """Returns the acceptance in each range of contexts; () if all lie in one range.

    The blocks of a range are those that begin in it: the expected numbers of the replay, divided by
    the expected number of tokens that these blocks emit, which may lie beyond the range. Blocks
    that the text's end may cut short are left out, because they all begin at its longest contexts.

    prompts: number of tokens of each trace's prompt.
    """
    contexts = [
        length + np.arange(trace.tokens) for trace, length in zip(traces, prompts, strict=True)
    ]
    ranges = doublings(contexts)
    if len(ranges) < 2:
        return ()
    masks = [
        [(first <= places) & (places <= last) for places in contexts] for first, last in ranges
    ]
    counted = [{gamma: np.zeros(gamma + 2) for gamma in range(1, max_gamma + 1)} for _ in ranges]
    for number, trace in enumerate(traces):
        replay = trace.replay
        for gamma in range(1, max_gamma + 1):
            lengths, starts = replay.lengths(gamma), replay.starts(gamma)
            tokens = starts * replay.emitted(gamma)
            whole = np.arange(trace.tokens) + gamma < trace.tokens
            for inside, counts in zip(masks, counted, strict=True):
                mask = inside[number] & whole
                counts[gamma][:-1] += np.bincount(lengths[mask], starts[mask], minlength=gamma + 1)
                counts[gamma][-1] += tokens[mask].sum()
    return tuple(
        ContextAcceptance(
            first=max(first, int(min(places.min() for places in contexts))),
            last=min(last, int(max(places.max() for places in contexts))),
            context=max(1, round(float(np.exp(np.mean(np.log(_inside(contexts, inside))))))),
            alpha=_alpha(traces, inside),
            blocks={g: tuple((row[:-1] / row[-1]).tolist()) for g, row in counts.items()},
        )
        for (first, last), inside, counts in zip(ranges, masks, counted, strict=True)
        if all(row[-1] > 0 for row in counts.values())
    )


def _inside(contexts: Sequence[Integers], masks: Sequence[NDArray[np.bool_]]) -> Integers:
    chosen = [places[mask] for places, mask in zip(contexts, masks, strict=True)]
    tokens: Integers = np.maximum(np.concatenate(chosen), 1)
    return tokens


def _alpha(traces: Sequence[Trace], masks: Sequence[NDArray[np.bool_]]) -> Alpha:
    """Returns the mean of β over the chosen positions, with an interval over texts."""
    chosen = [trace.beta[mask] for trace, mask in zip(traces, masks, strict=True) if mask.any()]
    sums, tokens = [float(beta.sum()) for beta in chosen], [len(beta) for beta in chosen]
    low, high = ratio_interval(sums, tokens, scale=rate) if len(chosen) > 1 else (None, None)
    return Alpha(sum(sums) / sum(tokens), low, high, CONFIDENCE, sum(tokens), len(chosen))
