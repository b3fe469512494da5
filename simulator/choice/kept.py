"""Runs of which drafts ended early, as by a p-min: settings that no row of a plan stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
    plain = next((each.seconds_per_token for each in means if each.gamma == 0), None)
    return KeptRun(run, None if plain is None else plain / run.seconds_per_token)
