"""How the times of requests differ in a steady server, and the share that meets targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import erfc, sqrt

import numpy as np

from simulator.numerics.arguments import Floats
from simulator.traffic.demand import LatencyTargets

# Seconds below which a mean counts as none.
_LEAST = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The distributions of requests' times, shape as in `Steady`.

    A request's time per token is lognormal. Its time to the first token is a least time, an
    exponential one for other requests' prompts, and with some probability another exponential one
    in line for a slot.

    token_seconds, token_variance: mean time per token, and variance of its logarithm.
    least_seconds: time to the first token in a server that reads no other prompt.
    reading_seconds: mean of the further time in a slot.
    line_seconds, line_share: mean time in line if there is one, and the probability of a line.
    """

    token_seconds: Floats
    token_variance: Floats
    least_seconds: Floats
    reading_seconds: Floats
    line_seconds: Floats
    line_share: Floats

    @classmethod
    def stacked(cls, spreads: Sequence[Spread]) -> Spread:
        """Returns several spreads along a new first axis."""
        names = [field.name for field in fields(cls)]
        return cls(**{name: np.stack([getattr(one, name) for one in spreads]) for name in names})

    def share(self, targets: LatencyTargets) -> Floats:
        """Returns the share of requests that meets both targets, as if both were independent."""
        return np.asarray(self.first_within(targets) * self.token_within(targets))

    def token_within(self, targets: LatencyTargets) -> Floats:
        """Returns the share of requests whose time per token meets its target; NaN times do."""
        if targets.token_seconds is None:
            return np.ones_like(self.token_seconds)
        deviation = np.sqrt(self.token_variance)
        logs = np.log(targets.token_seconds) - np.log(self.token_seconds) + self.token_variance / 2
        away = np.where(deviation > 0, logs / np.maximum(deviation, 1e-12), np.inf * np.sign(logs))
        flat = [1.0 if score != score else 0.5 * erfc(-score / sqrt(2)) for score in away.ravel()]
        return np.reshape(flat, away.shape)

    def first_within(self, targets: LatencyTargets) -> Floats:
        """Returns the share of requests whose first token meets its target."""
        if targets.first_seconds is None:
            return np.ones_like(self.token_seconds)
        left = np.maximum(targets.first_seconds - self.least_seconds, 0.0)
        reading = np.maximum(self.reading_seconds, _LEAST)
        line = np.maximum(self.line_seconds, _LEAST)
        line = np.where(np.abs(line / reading - 1) < 1e-6, line * (1 + 1e-5), line)
        alone, waited = np.exp(-left / reading), np.exp(-left / line)
        both = (reading * alone - line * waited) / (reading - line)
        late = (1 - self.line_share) * alone + self.line_share * both
        return np.asarray(np.where(targets.first_seconds < self.least_seconds, 0.0, 1 - late))
