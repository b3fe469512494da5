"""The interval of a speed-up from prompts drawn anew, or repeats where prompts ran at once.

Efron's bootstrap (1979) is consistent for medians, where a jackknife is not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engines.kind import EngineKind
from engines.trials.runs import Run
from engines.trials.timing import Timed, resampled_interval, unit_axis
from engines.trials.trial import Case
from estimator.intervals import Interval


def speed_up_interval(
    speed_up: float, kind: EngineKind, timed: Timed, own: Sequence[Run], gamma: int, case: Case
) -> Interval:
    """Returns the 95 % interval of a measured speed-up, symmetric in its logarithm.

    Args:
      speed_up: of all prompts.
      kind: of the engine whose runs they are.
      timed: what steps took, and take in resamples.
      own: the runs, by repeat.
      gamma, case: theirs.

    Returns:
      (None, None) where there is nothing to draw from.
    """
    if len(timed.drawn) == 0:
        return None, None
    counts = np.array(
        [
            [
                (part.steps(drafts_past_end=kind.drafts_past_end), part.decoded)
                for part in one.parts
            ]
            for one in own
        ]
    ).sum(axis=1 - unit_axis(case))
    units = len(counts)
    # There may be more prompts that were priced.
    more = timed.drawn.shape[1] - units
    calls, tokens = np.pad(counts, ((0, more), (0, 0)))[timed.drawn].sum(axis=1).T
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients = timed.resampled["rows", 0] * tokens / (timed.resampled["rows", gamma] * calls)
    return resampled_interval(speed_up, quotients, units=units)
