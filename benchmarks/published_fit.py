"""Fits the prior of a deployment's cost to public measurements, by expectation and maximisation.

Deployments are draws from a law of the parameters' logarithms whose mean depends on their traits.
In turn, every deployment's parameters are found with that law as prior (Laplace), and the law is
fitted to what was found: the mean by ridge regression on the traits (shrinkage), the covariance
from the deviations and the doubts (Dempster et al. 1977). The law has heavy tails, so that one odd
deployment does not define an engine: outliers count less (Student's t; Lange et
al. 1989). A source with many deployments counts less than as many sources: each deployment by one
over the root of their number. The rounds end where the means no longer move.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from published_deployed import Deployed, deployments
from published_rows import Row

from simulator.cost.fitted.machine import COUNT, PARAMETERS

MOST_ROUNDS, MOVED = 60, 2e-3
# Degrees of freedom of the tails.
TAILS = 4.0
# Mean of each parameter before any data, and its standard deviation in logarithms.
FIRST = {
    "roof": (1.15, 0.25), "layer": (2.5e-5, 0.7), "experts": (0.8, 0.6), "arithmetic": (1.0, 1.0),
    "plain": (5e-4, 1.0), "block": (1e-3, 1.0), "draft": (2e-4, 1.0), "sequence": (1.5e-5, 1.0),
    "prompt": (2.0, 1.0), "cache": (1.5, 0.6), "recache": (0.3, 0.8),
}  # fmt: skip
# Over measured kernels these are closer to 1, and what is left of a layer is between its kernels.
FIRST_OVER_KERNELS = {
    "roof": (1.0, 0.05), "layer": (8e-6, 0.4), "experts": (1.0, 0.35), "arithmetic": (1.0, 0.1),
    "plain": (3e-4, 0.5), "block": (6e-4, 0.6), "draft": (1.2e-4, 0.6), "sequence": (8e-6, 0.8),
    "prompt": (1.2, 0.5), "cache": (1.0, 0.15), "recache": (0.2, 0.8),
}  # fmt: skip
# As many deployments as shrink a trait's effect by half; the meeting of two traits more.
RIDGE, RIDGE_BOTH = 2.0, 6.0
# As many deployments as each group's errors count for.
ERROR_COUNT = 2.0
# Bounds of the errors of a time, of a run's speed-up, and of all speed-ups of a load.
LEAST_ERRORS, MOST_ERRORS = np.array([0.02, 0.015, 0.01]), np.array([0.2, 1.0, 1.0])


@dataclass(frozen=True)
class First:
    """The parameters before any data.

    logs, deviations: means of their logarithms, and standard deviations.
    count, covariance_count: as many deployments as the means and the covariance count for.
    """

    logs: NDArray[np.float64]
    deviations: NDArray[np.float64]
    count: float
    covariance_count: float

    @classmethod
    def of(
        cls, first: Mapping[str, tuple[float, float]], *, count: float, covariance_count: float
    ) -> First:
        return cls(
            np.log([first[name][0] for name in PARAMETERS]),
            np.array([first[name][1] for name in PARAMETERS]),
            count,
            covariance_count,
        )


# Constants were tried on the sources of `published_scores.chosen_on`. covariance_count 1 and 3 do
# not differ there (2026-11-25): interval score 0.80 and 0.81 by row, 0.94 by source, loss 1.0 %.
ROOFLINE = First.of(FIRST, count=1.0, covariance_count=3.0)
# Measured kernels leave less to explain, and fewer sources are covered. With sources left out the
# mean interval score of the five sources with more than two rows is 0.391 (experts of 0.9: 0.392;
# a draft's pass of 0.16 ms: 0.411).
KERNELS = First.of(FIRST_OVER_KERNELS, count=4.0, covariance_count=12.0)


def fit(rows: Sequence[Row], first: First = ROOFLINE) -> dict[str, Any]:
    """Returns what published_prior.json holds, fitted to these rows.

    first: parameters before these rows, for machines over the roofline or over kernels.
    """
    deployed = deployments(rows)
    weights = np.array([each.weight for each in deployed])
    names = sorted({name for each in deployed for name in each.first.traits.names})
    design = np.array(
        [[1.0, *(float(name in each.first.traits.names) for name in names)] for each in deployed]
    )
    shrunk = [RIDGE_BOTH if "," in name else RIDGE for name in names]
    ridge = np.diag([first.count, *shrunk])
    effects = np.zeros((1 + len(names), COUNT))
    effects[0] = first.logs
    covariance = np.diag(first.deviations**2)
    errors: dict[str, NDArray[np.float64]] = {}
    robust = weights
    for _ in range(MOST_ROUNDS):
        before, means, precision = effects, design @ effects, np.linalg.inv(covariance)
        for each, mean in zip(deployed, means, strict=True):
            each.move(mean, precision)
        found = np.array([each.logs for each in deployed])
        off = found - means
        far = np.einsum("ij,jk,ik->i", off, precision, off) + np.array(
            [np.trace(precision @ each.spread) for each in deployed]
        )
        robust = weights * (TAILS + COUNT) / (TAILS + far)
        effects = _effects(design, robust, ridge, found, first)
        off = found - design @ effects
        assumed = first.covariance_count / 2 * np.diag(first.deviations**2)
        doubts = sum(w * each.spread for w, each in zip(robust, deployed, strict=True))
        total = first.covariance_count + weights.sum()
        covariance = (assumed + (off.T * robust) @ off + doubts) / total
        errors = _errors(deployed, np.minimum(robust, weights))
        if np.abs(effects - before).max() < MOVED:
            break
    return {
        "parameters": list(PARAMETERS),
        "deployments": len(deployed),
        "mean": _rounded(effects[0]),
        "meetings": sorted({name for each in deployed for name in each.first.traits.meetings}),
        "effects": {name: _rounded(row) for name, row in zip(names, effects[1:], strict=True)},
        "covariance": [_rounded(row) for row in covariance],
        "errors": {name: _rounded(values) for name, values in sorted(errors.items())},
    }


def _squares(each: Deployed) -> NDArray[np.float64]:
    """Returns sums of squares with their doubts, by kind of error, and the counts; shape (2, 3)."""
    assert each.found is not None
    assert each.doubt is not None
    evidence, paired = each.evidence, each.evidence.paired
    slopes = np.hstack([evidence.slopes(each.logs), evidence.at_load])
    misfit = evidence.misfit(each.logs) + evidence.at_load @ each.found[COUNT:]
    squares = misfit**2 + np.einsum("ij,jk,ik->i", slopes, each.doubt, slopes)
    limits = (3 * each.errors) ** 2
    squares = np.minimum(squares, np.where(paired, limits[1], limits[0]))
    shared = np.minimum(each.found[COUNT:] ** 2, limits[2]) + np.diag(each.doubt)[COUNT:]
    return np.array(
        [
            [squares[~paired].sum(), squares[paired].sum(), shared.sum()],
            [(~paired).sum(), paired.sum(), len(shared)],
        ]
    )


def _errors(
    deployed: Sequence[Deployed], weights: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Returns errors of level, ratio and load by group, and sets each deployment's errors.

    A group is an engine with a kind of draft, or a kind of target.
    """
    squares = np.array([_squares(each) for each in deployed])
    means = squares[:, 0] / np.maximum(squares[:, 1], 1)
    overall = weights @ means / weights.sum()
    groups = [(each.first.traits.group, each.first.traits.target) for each in deployed]
    by_group = {"all": overall}
    for name in {name for names in groups for name in names}:
        inside = weights * np.array([name in names for names in groups])
        by_group[name] = (inside @ means + ERROR_COUNT * overall) / (inside.sum() + ERROR_COUNT)
    for each, (group, _), (sums, counts) in zip(deployed, groups, squares, strict=True):
        own = (4 * by_group[group] + sums) / (4 + counts)
        each.errors = np.clip(np.sqrt(own), LEAST_ERRORS, MOST_ERRORS)
    return {name: np.minimum(np.sqrt(value), MOST_ERRORS) for name, value in by_group.items()}


def _effects(
    design: NDArray[np.float64],
    weights: NDArray[np.float64],
    ridge: NDArray[np.float64],
    found: NDArray[np.float64],
    first: First,
) -> NDArray[np.float64]:
    """Returns the mean and what each trait adds to it, by ridge regression."""
    weighted = design.T * weights
    target = weighted @ found
    target[0] += ridge[0, 0] * first.logs
    return np.asarray(np.linalg.solve(weighted @ design + ridge, target))


def _rounded(values: Any) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
