"""Runs to keep: drafts that ended early, and the fastest K, to go back to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simulator.choice.curve import Curve
from simulator.cost.fitted.runs import Run, pooled


class KeptRun(NamedTuple):
    """A run that no draft length is expected to beat.

    run: the run; its drafts ended before γ tokens.
    gain: its measured speed-up; None if no run without speculation was timed.
    """

    run: Run
    gain: float | None


def kept_run(runs: Sequence[Run], *, expected: float, near: float) -> KeptRun | None:
    """Returns the fastest run with drafts that ended early, if the advice is not faster than it.

    runs: runs of one load.
    expected: seconds per token that are expected of the advised γ.
    near: share by which the advice must be faster to replace what runs.
    """
    means = pooled(runs)
    early = [run for run in means if run.drafted is not None]
    if not early:
        return None
    run = min(early, key=lambda run: run.seconds_per_token)
    if expected < (1 - near) * run.seconds_per_token:
        return None
    plain = next((mean.seconds_per_token for mean in means if mean.gamma == 0), None)
    return KeptRun(run, None if plain is None else plain / run.seconds_per_token)


class FastestRun(NamedTuple):
    """The fastest γ that was run, where another γ is advised and was not run.

    gamma: its draft length; 0 is no speculation.
    gain: its speed-up over no speculation.
    behind: probability in [0, 1] that the advised γ is faster.
    """

    gamma: int
    gain: float
    behind: float


def fastest_run(runs: Sequence[Run], curve: Curve, advised: int) -> FastestRun | None:
    """Returns the fastest run, to go back to if the advised γ is slower; None if that was run.

    Drafts of runs that ended early have no row in the curve, and an impossible run is no measure:
    with one of them there is no fastest run.

    runs: runs of one load. curve: speed-ups of that load. advised: the advised γ.
    """
    ran = {run.gamma for run in runs if not run.speculating}
    if advised == 0 or advised in ran or any(run.drafted is not None for run in runs):
        return None
    rows = [gamma for gamma in ran if 0 < gamma <= len(curve.gamma)]
    if not ran or curve.impossible[np.array(rows, dtype=int) - 1].any():
        return None
    medians = {0: 0.0, **{gamma: float(curve.gains.medians[gamma - 1]) for gamma in rows}}
    gamma = max(ran & medians.keys(), key=medians.__getitem__)
    if gamma == 0:
        return FastestRun(0, 1.0, float(curve.gains.exceeds(1.0)[advised - 1]))
    behind = curve.gains.exceeds_other(advised - 1, gamma - 1)
    return FastestRun(gamma, float(curve.improvement_factor[gamma - 1]), behind)
