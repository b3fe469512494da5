"""Costs from runs at several batch sizes: batches without runs are interpolated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from simulator.cost.cost import Cost
from simulator.cost.fitted.draws import Draws
from simulator.cost.fitted.fit import ParametricCost, infer
from simulator.cost.fitted.machine import PARAMETERS
from simulator.cost.fitted.posterior import FittedMachine, Posterior
from simulator.cost.fitted.prior import vague_prior
from simulator.cost.fitted.runs import LoadPoint, Run, measured_zero
from simulator.cost.setting import Load
from simulator.numerics.arguments import Floats
from simulator.numerics.lattice import DRAWS, normal_column

# Standard deviation that each log parameter gains per factor e between a batch and the nearest run.
_BETWEEN, _BEYOND = 0.1, 0.3
_DOUBTED = [PARAMETERS.index(name) for name in ("roof", "block", "draft")]
# Columns of `normal_column` for these errors.
_COLUMNS = (12, 13, 15)


def posterior_of_runs(runs: Sequence[Run]) -> Posterior:
    """Returns cost parameters fitted to runs of one load, or the prior if there are no runs."""
    return _fitted(tuple(runs))


@lru_cache(maxsize=64)  # A schedule is refined in steps, and each asks for the same runs.
def _fitted(runs: tuple[Run, ...]) -> Posterior:
    return infer(FittedMachine(), vague_prior([run.step_seconds for run in runs] or [1.0]), runs)


def cost_of_runs(runs: Sequence[Run]) -> ParametricCost:
    """Returns the cost fitted to runs, which must all have the same load."""
    return ParametricCost(posterior_of_runs(runs), runs[0].load)


def costs_by_batch(runs: Sequence[Run], batches: Sequence[int] | None = None) -> tuple[Cost, ...]:
    """Returns one cost for each batch size, fitted to runs of one context.

    A batch is complete if it was run both with and without speculation. Parameters are interpolated
    in the logarithm of the batch between two complete batches, and taken from the nearest complete
    batch elsewhere. Such costs are marked as estimated and have larger errors.

    batches: batch sizes; None: the complete ones, or the only batch size of all runs.
    """
    every, runs = runs, [run for run in runs if not run.speculating]
    if not runs:
        raise ValueError("runs must have one of a server without speculation or with drafts")
    by_batch = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.load.batch):
        by_batch[run.load.batch].append(run)
    if len({run.load.context for run in runs}) > 1:
        raise ValueError(
            "`runs` of several contexts need `target_config`, `draft_config` and `gpu`"
        )
    if len(by_batch) == 1 and batches is None:
        return (_zeroed(cost_of_runs(runs), every),)
    missing = {batch: _missing(runs) for batch, runs in by_batch.items()}
    lacking = tuple(reason for reason in missing.values() if reason)
    complete = [batch for batch in by_batch if not missing[batch]]
    known = {batch: posterior_of_runs(by_batch[batch]) for batch in complete}
    if not known:
        raise ValueError(f"no batch was run both with and without speculation. {' '.join(lacking)}")
    context = runs[0].load.context
    costs = (_priced(known, batch, context, lacking) for batch in batches or known)
    return tuple(_zeroed(cost, every) for cost in costs)


def _zeroed(cost: Cost, runs: Sequence[Run]) -> Cost:
    zero = measured_zero(runs, cost.setting.batch)
    return cost if zero is None else cost.with_setting(zero=zero)


def _missing(runs: Sequence[Run]) -> str:
    """Returns a note if all runs of a batch size speculate, or if none does; else ""."""
    drafted = {run.gamma > 0 for run in runs}
    if len(drafted) == 2:
        return ""
    arm, gamma = ("without", 0) if True in drafted else ("with", "K")
    batch = runs[0].load.batch
    return (
        f"Batch {batch} has no run {arm} speculation, so it has no speed-up: add the run "
        f"gamma={gamma},batch={batch},..."
    )


def _priced(
    known: Mapping[int, Posterior], batch: int, context: int, notes: tuple[str, ...]
) -> Cost:
    below = [smaller for smaller in known if smaller <= batch]
    above = [larger for larger in known if larger >= batch]
    first, last = (below or above)[-1 if below else 0], (above or below)[0 if above else -1]
    estimated = None if batch in known else "between" if below and above else "beyond"
    posterior = known[first]
    if estimated is not None:
        posterior = _estimated(posterior, known[last], np.log([first, batch, last]))
    load = Load(origin="by your runs", context=context, notes=notes, estimated=estimated)
    return ParametricCost(posterior, LoadPoint(context, batch)).with_setting(load=load)


def _estimated(first: Posterior, last: Posterior, places: np.ndarray) -> Interpolated:
    """Returns the posterior at one batch, interpolated from two batches' posteriors.

    places: logarithms of three batch sizes: at `first`, wanted, and at `last`.
    """
    apart = places[2] - places[0]
    share = 0.0 if apart == 0 else float((places[1] - places[0]) / apart)
    away = (_BEYOND if apart == 0 else _BETWEEN) * np.abs(places[[0, 2]] - places[1]).min()
    # Errors of both batches count as shared, so that interpolation does not reduce them.
    covariance = (1 - share) * first.covariance + share * last.covariance
    covariance[_DOUBTED, _DOUBTED] += away**2
    return Interpolated(
        first.machine,
        first.prior,
        first.runs if apart == 0 else (*first.runs, *last.runs),
        (1 - share) * first.logs + share * last.logs,
        covariance,
        first.draws,
        ends=(_doubted(first, away), _doubted(last, away)),
        share=share,
    )


def _doubted(posterior: Posterior, deviation: float) -> Posterior:
    """Returns the posterior with a further error of the parameters _DOUBTED."""
    known = posterior.draws(DRAWS)
    moved = replace(known, logs=known.logs.copy())
    for index, column in zip(_DOUBTED, _COLUMNS, strict=True):
        moved.logs[:, index] += deviation * normal_column(column)
    return replace(posterior, draws=lambda _: moved)


@dataclass(frozen=True, eq=False)
class Interpolated(Posterior):
    """A posterior at one batch, between the posteriors at two others.

    ends: the two posteriors, each of runs of one load. share: weight of the second, in [0, 1].
    """

    ends: tuple[Posterior, Posterior] = field(kw_only=True)
    share: float = field(kw_only=True)

    def _free(self, load: LoadPoint, gammas: Sequence[int], draws: Draws) -> Floats:
        first, last = (end._free(end.runs[0].load, gammas, end.draws(DRAWS)) for end in self.ends)
        return (1 - self.share) * first + self.share * last
