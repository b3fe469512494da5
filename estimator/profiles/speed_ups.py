"""Replayed speed-ups with their intervals, and the gamma that the data recommends."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from estimator.intervals import Interval, jackknife_interval, left_out, ratio
from estimator.runs.rates import Timed, priced, without
from estimator.traces.traces import Trace


@dataclass(frozen=True, slots=True)
class SpeedUps:
    """What each gamma gains on the recorded texts at measured costs.

    gammas: ascending, from 0 (do not speculate, whose factor is 1).
    factors: baseline seconds over replayed ones, of all prompts.
    recommended: the smallest of gammas that is not significantly worse than the best.
    c: time of a steady draft step over that of a target step, with its interval.
    factors_without, c_without: the same with each prompt left out, shape (gammas, prompts) and
      (prompts,); empty of a single prompt.
    """

    gammas: tuple[int, ...]
    factors: tuple[float, ...]
    intervals: tuple[Interval, ...]
    recommended: int
    c: float
    c_interval: Interval
    factors_without: tuple[tuple[float, ...], ...]
    c_without: tuple[float, ...]

    def by_gamma(self) -> dict[int, tuple[float, Interval]]:
        """Returns factor and interval of each gamma that drafts."""
        pairs = zip(self.factors, self.intervals, strict=True)
        return {gamma: pair for gamma, pair in zip(self.gammas, pairs, strict=True) if gamma > 0}

    @property
    def best(self) -> int:
        """The gamma of the largest factor, the smallest of equals; 0: do not speculate."""
        return self.gammas[int(np.argmax(self.factors))]


def speed_ups(traces: Sequence[Trace], texts: Timed, gammas: Sequence[int]) -> SpeedUps:
    """Returns the speed-ups of all prompts, and how far leaving out each of them moves these.

    A prompt takes its text and its timings with it. A gamma is significantly worse than the best if
    the CONFIDENCE interval of its factor over the best one's lies below 1; both are of the same
    texts and prices, so their quotient is known better than either. Of one prompt there are no
    intervals, and the best is recommended.

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
    return SpeedUps(
        gammas=(0, *gammas),
        factors=tuple(table[0].tolist()),
        intervals=tuple(_interval(column, tokens) for column in table.T),
        recommended=(0, *gammas)[
            next(
                place
                for place, column in enumerate((table / table[:, [best]]).T)
                if place == best or not _below_one(column, tokens)
            )
        ],
        c=float(steps[0]),
        c_interval=_interval(steps, tokens),
        factors_without=tuple(tuple(column[1:].tolist()) for column in table.T),
        c_without=tuple(steps[1:].tolist()),
    )


def _interval(values: NDArray[np.float64], tokens: NDArray[np.float64]) -> Interval:
    """Returns the interval of the first value, which is of all prompts, those left out after it."""
    return jackknife_interval(float(values[0]), values[1:], scale=ratio, sizes=tokens)


def _below_one(quotients: NDArray[np.float64], tokens: NDArray[np.float64]) -> bool:
    """Returns whether a factor is worse than the best: surely so, where one can be sure."""
    _, high = _interval(quotients, tokens)
    return high is None or high < 1
