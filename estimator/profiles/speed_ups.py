"""Replayed speed-ups with their intervals, and the gamma that the data recommends."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from estimator.intervals import jackknife_interval, left_out, ratio
from estimator.profiles.drafting import Estimate
from estimator.timing.rates import Timed, priced, without
from estimator.traces.traces import Trace


@dataclass(frozen=True, slots=True)
class SpeedUps:
    """The speed-up of each gamma on the recorded texts at measured costs.

    factors: baseline seconds over replayed ones, by gamma, ascending from 1.
    best: the gamma of the largest factor, the smallest of equals; 0: do not speculate, whose factor
      is 1.
    c: time of a steady draft step over the time of a target step.
    factors_without, c_without: factors and c with each prompt left out, shapes (prompts,); empty
      for a single prompt.
    """

    factors: dict[int, Estimate]
    best: int
    c: Estimate
    factors_without: dict[int, tuple[float, ...]]
    c_without: tuple[float, ...]


def speed_ups(traces: Sequence[Trace], texts: Timed, gammas: Sequence[int]) -> SpeedUps:
    """Returns the speed-ups of all prompts, and how far leaving out each of them moves these.

    A prompt takes its text and its timings with it. A single prompt has no intervals.

    Args:
      gammas: at least 1 each, ascending.
    """
    prompts = len(traces)
    costs = [priced(texts)]
    if prompts > 1:
        costs += [priced(without(texts, prompt)) for prompt in range(prompts)]
    baseline = np.array([cost.baseline_seconds for cost in costs])
    tokens = np.array([float(trace.tokens) for trace in traces])
    columns = [baseline / baseline]
    for gamma in gammas:
        blocks = np.array([trace.replay.blocks(gamma) for trace in traces])
        prices = np.array([cost.block_seconds(np.arange(gamma + 1)) for cost in costs])
        kept = np.concatenate([blocks.sum(axis=0)[None], left_out(blocks)])[: len(costs)]
        saved = np.concatenate([[tokens.sum()], left_out(tokens)])[: len(costs)] * baseline
        columns.append(saved / (kept * prices).sum(axis=1))
    # Row 0 is of all prompts, row i + 1 of all but prompt i.
    table = np.column_stack(columns)
    best = int(table[0].argmax())
    steps = np.array([cost.c for cost in costs])
    drafting = dict(zip(gammas, table.T[1:], strict=True))
    return SpeedUps(
        factors={gamma: _estimate(column, tokens) for gamma, column in drafting.items()},
        best=(0, *gammas)[best],
        c=_estimate(steps, tokens),
        factors_without={g: tuple(column[1:].tolist()) for g, column in drafting.items()},
        c_without=tuple(steps[1:].tolist()),
    )


def _estimate(values: NDArray[np.float64], tokens: NDArray[np.float64]) -> Estimate:
    """Returns the value over all prompts (the first) with its jackknife interval (the others)."""
    value = float(values[0])
    interval = jackknife_interval(value, values[1:], scale=ratio, sizes=tokens)
    return Estimate(value, *interval)
