"""The advice of a tuning: the γ to run, and why others were not run."""

from __future__ import annotations

import msgspec


class NotRun(msgspec.Struct, frozen=True, kw_only=True):
    """A γ next to the advised one that was not run, with its forecast after all runs.

    faster_probability: probability in [0, 1] that it is faster than the advised γ.
    """

    gamma: int
    improvement_factor: float
    improvement_factor_low: float
    improvement_factor_high: float
    faster_probability: float


class Declined(msgspec.Struct, frozen=True, kw_only=True):
    """The run that would come next, and was not made because its gain is below --worth.

    gain_percent, worth_percent: expected gain of speed by the run, and the least for a run.
    """

    gamma: int
    gain_percent: float
    worth_percent: float


class Advised(msgspec.Struct, frozen=True, kw_only=True):
    """The γ to run at one concurrency (0: no speculation), with its speed-up.

    faster_than: by other measured γ (0: no speculation): probability in [0, 1] that the advised
      γ is faster; empty if it has a threshold.
    not_run: each γ next to the advised one that was not run, if the advised one was.
    declined: the run that would come next; None before the search is over.
    """

    concurrency: int
    gamma: int
    improvement_factor: float
    improvement_factor_low: float
    improvement_factor_high: float
    gain_probability: float | None
    ms_per_token: float | None
    p_min: float = 0.0
    faster_than: dict[int, float] = {}
    not_run: tuple[NotRun, ...] = ()
    declined: Declined | None = None
