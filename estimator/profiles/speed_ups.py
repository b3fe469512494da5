"""Replayed speed-ups with their intervals, and the gamma that the data recommends."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from estimator.costs.blocks import fit_costs
from estimator.intervals import Interval, jackknife_interval, left_out, ratio
from estimator.runs.arms import AGAIN
from estimator.runs.repeats import Timed, probes, without
from estimator.traces.traces import Trace
from simulator.acceptance.replay import block_lengths
from simulator.cost.curves import CostModel


@dataclass(frozen=True, slots=True)
class SpeedUps:
    """What each gamma gains on the recorded texts at measured costs.

    gammas: ascending, from 0 (do not speculate, whose factor is 1).
    factors: baseline seconds over replayed ones, of all prompts.
    intervals: of the factors, over prompts.
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
      traces: one for each prompt.
      texts: of the baseline and the probes, on the same prompts.
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
        blocks = np.array(
            [
                block_lengths(t.acceptance, gamma, limit=t.limit, drafted=t.drafted)
                for t in traces
            ]
        )
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
        intervals=tuple(jackknife_interval(c[0], c[1:], scale=ratio) for c in table.T),
        recommended=(0, *gammas)[
            next(
                place
                for place, column in enumerate((table / table[:, [best]]).T)
                if place == best or not _below_one(column)
            )
        ],
        c=float(steps[0]),
        c_interval=jackknife_interval(float(steps[0]), steps[1:], scale=ratio),
        factors_without=tuple(tuple(column[1:].tolist()) for column in table.T),
        c_without=tuple(steps[1:].tolist()),
    )


def priced(texts: Timed) -> CostModel:
    """Returns the cost model of the baseline's and the probes' texts."""
    return fit_costs(texts[AGAIN], probes(texts))


def _below_one(quotients: np.ndarray) -> bool:
    """Returns whether a factor is worse than the best: surely so, where one can be sure."""
    _, high = jackknife_interval(float(quotients[0]), quotients[1:], scale=ratio)
    return high is None or high < 1
