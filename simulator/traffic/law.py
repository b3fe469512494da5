"""The distribution of the number of requests in a server, and means over it.

With Poisson arrivals, π(k) = π(0) Π_{j ≤ k} λ r(j) (see `simulator.traffic.steady`). Arrivals that
vary less, such as every Nth request of one of N replicas, keep the mode and have
π(k)^(1/z), as in the diffusion of a birth-death process whose noise is z times as large. z is the
variance of the number of requests in service over its mean, if none waits and steps do not grow: 1
for Poisson arrivals, the squared coefficient of variation of the gaps if outputs are alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.numerics.arguments import Floats
from simulator.traffic.demand import Demand
from simulator.traffic.population import Population

# A weight above 0, by which means over a busy server exist where it is almost never busy.
_LEAST = 1e-290
# Numbers that are multiplied together: draws × requests × columns.
_TOGETHER = 2**17
# Rates are weighed together up to this logarithm of a weight over the weight of an idle server.
_LARGEST = 300.0


@dataclass(frozen=True, slots=True)
class Law:
    """Means over the distribution of the number of requests, shape (draws, rates) each.

    company: share of the slots that other requests can occupy: 0 with a single slot.
    idle, full: probability that no request is in the server, and that no slot is free.
    present: mean number of requests in service.
    step: seconds of a step without prompts once an arriving request has joined.
    added: seconds that other requests' prompts add to this step.
    base: seconds of a step without its prompts, while the server has a request.
    reading: seconds that a prompt adds to the steps that read it.
    busy_step: seconds of a step with its prompts, while the server has a request.
    tail: how probable a further request in line is, given one; 0 to 1.
    variance: variance of the number of requests in service.
    step_variation: squared coefficient of variation, between steps of a request, of their seconds.
    """

    company: float
    idle: Floats
    full: Floats
    present: Floats
    step: Floats
    added: Floats
    base: Floats
    reading: Floats
    busy_step: Floats
    tail: Floats
    variance: Floats
    step_variation: Floats

    @property
    def among(self) -> Floats:
        """Factor in [0, 1] on the wait for other requests' prompts; 0 with a single slot."""
        return self.company * (1 - self.full)

    @classmethod
    def of(cls, rate: Floats, present: Population, variability: float) -> Law:
        """Returns the means at each rate; NaN where the server does not sustain it.

        rate: requests per second, shape (rates,), or (draws, rates) with the same ratios of rates
          in each draw.
        present: step and prompt times by number of requests in the server.
        variability: z of the module.
        """
        shape = present.share.shape
        columns = [present.share, present.step, present.base, present.prompts, present.reading]
        columns = [np.broadcast_to(column, shape).reshape(-1, shape[-1]) for column in columns]
        rows = np.broadcast_to(rate, (*shape[:-1], rate.shape[-1])).reshape(-1, rate.shape[-1])
        # In groups of draws that fit into the processor's caches.
        size = max(1, _TOGETHER // (shape[-1] * len(columns)))
        groups = [slice(at, at + size) for at in range(0, len(rows), size)]
        means = [_means(rows[group], [c[group] for c in columns], variability) for group in groups]
        whole = np.concatenate(means, axis=1)
        return cls(1 - 1 / shape[-1], *whole.reshape(-1, *shape[:-1], rate.shape[-1]))


def _means(rate: Floats, of_group: list[Floats], variability: float) -> Floats:
    """Returns the fields of `Law` after `company`, shape (fields, draws, rates).

    A weight is its draw's weight at the largest rate, times a power of the ratio of both rates,
    which all draws share: so the means are one product of matrices.

    rate: shape (draws, rates). of_group: share, step, base, prompts and reading of `Population`.
    """
    share, alone, base, prompts, reading = of_group
    most = share.shape[-1]
    # An arrival raises the number by one.
    raised = np.concatenate([alone[:, 1:], alone[:, -1:]], axis=-1)
    added = prompts * reading
    whole = base + added
    # Other requests' prompts: with all slots taken, as many as with one request less.
    last = added[:, -2:-1] if most > 1 else np.zeros_like(added)
    met = np.concatenate([added[:, :-1], last], axis=-1)
    counts = np.arange(1.0, most + 1)
    taken = counts * whole
    columns = [np.ones(most), counts, counts**2, raised, met, base, reading, 1 / whole, taken]
    columns.append(taken * whole)
    largest = rate.max(axis=-1, keepdims=True)
    logs = np.cumsum(np.log(largest * share), axis=-1) / variability
    scale = np.maximum(logs.max(axis=-1, keepdims=True), 0.0)
    if rate.shape[-1] > 1 and scale.max() > _LARGEST:
        halves = np.array_split(rate, 2, axis=-1)
        return np.concatenate([_means(half, of_group, variability) for half in halves], axis=-1)
    weights, idle = np.exp(logs - scale), np.exp(-scale)
    powers = np.log(rate[0] / largest[0])[:, None] * counts / variability
    terms = np.empty((len(share), len(columns), most))
    for place, column in enumerate(columns):
        np.multiply(weights, column, out=terms[:, place])
    sums = (terms.reshape(-1, most) @ np.exp(powers).T).reshape(*terms.shape[:2], -1)
    sums += _LEAST * np.stack([column[..., :1] + 0 * idle for column in columns], axis=1)
    # Requests that wait in line are counted with the last batch.
    stable = rate * share[:, -1:] < 1
    tail = np.where(stable, rate * share[:, -1:], np.nan) ** (1 / variability)
    final = np.exp(powers[:, -1]) / (1 - tail)
    sums += (final * tail)[:, None] * terms[:, :, -1:]
    busy, number, square, step, met, base, reading, steps, taken, squares = np.moveaxis(sums, 1, 0)
    total = idle + busy
    step = step + idle * alone[:, :1]
    full = final * weights[:, -1:]
    values = [mean / total for mean in (idle, full, number, step, met)]
    values += [base / busy, reading / busy, busy / steps, tail]
    values += [np.maximum(square / total - (number / total) ** 2, 0.0)]
    return np.stack([*values, np.maximum(squares / taken * (number / taken) - 1, 0.0)])


def variability(demand: Demand) -> float:
    """Returns z of the module, at most 1."""
    return 1 - (1 - 1 / demand.replicas) / (1 + demand.output_spread**2)
