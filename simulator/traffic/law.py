"""The distribution of the number of requests in a server, and means over it.

With Poisson arrivals, π(k) = π(0) Π_{j ≤ k} λ r(j) (see `simulator.traffic.steady`). Arrivals that
vary less, such as every Nth request of one of N replicas, keep the mode and have
π(k)^(1/z), as in the diffusion of a birth-death process whose noise is z times as large. z is the
variance of the number of requests in service over its mean, if none waits and steps do not grow: 1
for Poisson arrivals, the squared coefficient of variation of the gaps if outputs are alike.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from simulator.numerics.arguments import Floats
from simulator.traffic.demand import Demand
from simulator.traffic.population import Population

# A weight above 0, by which means over a busy server exist where it is almost never busy.
_LEAST = 1e-290
# Numbers of a group: draws × requests × columns.
_TOGETHER = 2**19
# Rates are weighed together up to this logarithm of a weight over the weight of an idle server.
_LARGEST = 300.0
# Numbers of requests whose weight's logarithm is this far below the largest are left out.
_NEGLIGIBLE = 80.0


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
        # In groups of draws that fit into the processor's caches, of similar capacities: rates that
        # no draw of a group sustains are left out.
        size = max(1, _TOGETHER // (shape[-1] * len(columns)))
        loads = rows * columns[0][:, -1:]
        order = np.argsort(columns[0][:, -1])
        whole = np.full((len(fields(cls)) - 1, *rows.shape), np.nan)
        for at in range(0, len(rows), size):
            group = order[at : at + size]
            able = np.flatnonzero((loads[group] < 1).any(axis=0))
            if len(able) > 0:
                place, part = group[:, None], [column[group] for column in columns]
                whole[:, place, able] = _of_group(rows[place, able], part, variability)
        return cls(1 - 1 / shape[-1], *whole.reshape(-1, *shape[:-1], rate.shape[-1]))


def _of_group(rate: Floats, group: list[Floats], variability: float) -> Floats:
    """Returns the fields of `Law` after `company`, shape (fields, draws, rates).

    rate: shape (draws, rates). group: share, step, base, prompts and reading of `Population`.
    """
    share, alone, base, prompts, reading = group
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
    logs = np.cumsum(np.log(share), axis=-1)
    return _means(rate, logs, columns, (alone[:, :1], share[:, -1:]), variability)


def _means(
    rate: Floats,
    logs: Floats,
    columns: list[Floats],
    ends: tuple[Floats, Floats],
    variability: float,
) -> Floats:
    """Returns `_of_group`.

    A weight is its draw's weight at the largest rate, times a power of the ratio of both rates,
    which all draws share: so the means are one product of matrices.

    logs: Σ_{j ≤ k} log r(j), shape (draws, requests). columns: values whose means are wanted, shape
    (draws, requests) or (requests,) each. ends: step of an idle server, and 1 / r with all slots
    taken, shape (draws, 1) each.
    """
    (first, slowest), counts = ends, columns[1]
    largest = rate.max(axis=-1, keepdims=True)
    weights = (logs + np.log(largest) * counts) / variability
    top = weights.max(axis=-1, keepdims=True)
    scale = np.maximum(top, 0.0)
    if rate.shape[-1] > 1 and scale.max() > _LARGEST:
        halves = np.array_split(rate, 2, axis=-1)
        known = (logs, columns, ends, variability)
        return np.concatenate([_means(half, *known) for half in halves], axis=-1)
    weights -= scale
    least = (top - scale).min() - _NEGLIGIBLE
    reach = np.flatnonzero(weights.max(axis=0) > least)[-1] + 1
    idle, final, weights = np.exp(-scale), np.exp(weights[:, -1:]), np.exp(weights[:, :reach])
    ratios = np.log(rate[0] / largest[0]) / variability
    terms = np.empty((len(rate), len(columns), reach))
    for place, column in enumerate(columns):
        np.multiply(weights, column[..., :reach], out=terms[:, place])
    sums = terms.reshape(-1, reach) @ np.exp(ratios[:, None] * counts[:reach]).T
    sums = sums.reshape(*terms.shape[:2], -1)
    # Requests that wait in line are counted with the last batch.
    load = rate * slowest
    tail = np.where(load < 1, load, np.nan) ** (1 / variability)
    full = final * np.exp(ratios * counts[-1]) / (1 - tail)
    for place, column in enumerate(columns):
        sums[:, place] += _LEAST * column[..., :1] + full * tail * column[..., -1:]
    busy, number, square, step, met, base, reading, steps, taken, squares = np.moveaxis(sums, 1, 0)
    total = idle + busy
    step = step + idle * first
    values = [mean / total for mean in (idle, full, number, step, met)]
    values += [base / busy, reading / busy, busy / steps, tail]
    values += [np.maximum(square / total - (number / total) ** 2, 0.0)]
    return np.stack([*values, np.maximum(squares / taken * (number / taken) - 1, 0.0)])


def variability(demand: Demand) -> float:
    """Returns z of the module, at most 1."""
    return 1 - (1 - 1 / demand.replicas) / (1 + demand.output_spread**2)
