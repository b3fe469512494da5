"""Fits the prior of a deployment's cost to public measurements, by expectation and maximisation.

Deployments are draws from a normal law of the parameters' logarithms whose mean depends on their
traits. In turn, every deployment's parameters are found with that law as prior (Laplace), and the
law is fitted to what was found: the mean by ridge regression on the traits (shrinkage), the
covariance from the deviations and the doubts (Dempster et al. 1977). A source with many
deployments counts less than as many sources: each deployment by one over the root of their number.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from published_rows import Row
from scipy.special import ndtri

from simulator.cost.evidence import Evidence
from simulator.cost.parameters import COUNT, PARAMETERS
from simulator.cost.posterior import Prior, conclude
from simulator.cost.published_prior import FEW_SOURCES
from simulator.cost.runs import Run

ROUNDS = 12
# What each parameter is before any data, and its standard deviation in logarithms.
FIRST = {
    "roof": (1.15, 0.25), "layer": (2.5e-5, 0.7), "experts": (0.8, 0.6), "arithmetic": (1.0, 1.0),
    "plain": (5e-4, 1.0), "block": (1e-3, 1.0), "draft": (2e-4, 1.0), "sequence": (1.5e-5, 1.0),
    "prompt": (2.0, 1.0), "cache": (1.5, 0.6), "recache": (0.3, 0.8),
}  # fmt: skip
FIRST_LOGS = np.log([FIRST[name][0] for name in PARAMETERS])
FIRST_DEVIATIONS = np.array([FIRST[name][1] for name in PARAMETERS])
# As many deployments as shrink a trait's effect by half; the meeting of two traits more.
RIDGE, RIDGE_BOTH = 2.0, 6.0
# As many deployments as the first covariance and each group's errors count for.
COVARIANCE_COUNT, ERROR_COUNT = 3.0, 2.0
# As many sources as shrink the doubt of a kind of draft towards that of all.
DOUBT_COUNT = 2.0
LEAST_LEVEL, MOST_LEVEL, LEAST_RATIO = 0.02, 0.2, 0.015


@dataclass
class Deployed:
    """One deployment of the table, and what is known of it so far."""

    first: Row
    evidence: Evidence
    weight: float
    level: float = 0.08
    ratio: float = 0.05
    logs: NDArray[np.float64] | None = None


def runs_of(rows: Sequence[Row]) -> list[Run]:
    """Returns the runs of rows; a plain run that several rows share, once."""
    return list(dict.fromkeys(run for row in rows for run in (row.plain, row.run)))


def impossible(rows: Sequence[Row]) -> set[str]:
    """Returns targets of which some row gains more than its accepted length.

    A step with drafts would then be quicker than one without: the two differ in something else.
    """
    return {row.facts["target"] for row in rows if row.speed_up > row.run.length}


def fit(rows: Sequence[Row]) -> dict[str, Any]:
    """Returns what published_prior.json holds, fitted to these rows."""
    deployed = _deployments(rows)
    weights = np.array([each.weight for each in deployed])
    names = sorted({name for each in deployed for name in each.first.traits.names})
    design = np.array(
        [[1.0, *(float(name in each.first.traits.names) for name in names)] for each in deployed]
    )
    ridge = np.diag([1.0, *(RIDGE_BOTH if "," in name else RIDGE for name in names)])
    effects = np.zeros((1 + len(names), COUNT))
    effects[0] = FIRST_LOGS
    covariance = np.diag(FIRST_DEVIATIONS**2)
    errors: dict[str, tuple[float, float]] = {}
    for _ in range(ROUNDS):
        means = design @ effects
        doubts = np.zeros((COUNT, COUNT))
        squares = []
        for each, mean in zip(deployed, means, strict=True):
            prior = Prior(mean, covariance, each.level, each.ratio)
            each.logs, doubt = conclude(prior, each.evidence)
            doubts += each.weight * doubt
            squares.append(_squares(each, doubt))
        errors = _errors(deployed, weights, np.array(squares))
        found = np.array([each.logs for each in deployed])
        effects = _effects(design, weights, ridge, found)
        off = found - design @ effects
        first = COVARIANCE_COUNT / 2 * np.diag(FIRST_DEVIATIONS**2)
        total = COVARIANCE_COUNT + weights.sum()
        covariance = (first + (off.T * weights) @ off + doubts) / total
    doubts_of = _doubts(deployed, weights, design, ridge, covariance)
    return {
        "parameters": list(PARAMETERS),
        "deployments": len(deployed),
        "mean": _rounded(effects[0]),
        "effects": {name: _rounded(row) for name, row in zip(names, effects[1:], strict=True)},
        "covariance": [_rounded(row) for row in covariance],
        "doubts": {name: float(f"{doubt:.4g}") for name, doubt in sorted(doubts_of.items())},
        "errors": {name: _rounded(pair) for name, pair in sorted(errors.items())},
    }


def _deployments(rows: Sequence[Row]) -> list[Deployed]:
    left_out = impossible(rows)
    groups = defaultdict(list)
    for row in rows:
        if row.facts["target"] not in left_out:
            groups[row.deployment].append(row)
    owners = Counter(group[0].owner for group in groups.values())
    return [
        Deployed(
            group[0],
            Evidence.of(group[0].machine, runs_of(group)),
            owners[group[0].owner] ** -0.5,
        )
        for group in groups.values()
    ]


def _squares(each: Deployed, doubt: NDArray[np.float64]) -> tuple[float, float, int, int]:
    """Returns sums of squared misfits with their doubts, of times and of ratios, and the counts."""
    assert each.logs is not None
    misfit, slopes = each.evidence.misfit(each.logs), each.evidence.slopes(each.logs)
    squares = misfit**2 + np.einsum("ij,jk,ik->i", slopes, doubt, slopes)
    ratios = each.evidence.paired
    limit = np.where(ratios, 3 * each.ratio, 3 * each.level) ** 2
    squares = np.minimum(squares, limit)
    return squares[~ratios].sum(), squares[ratios].sum(), int((~ratios).sum()), int(ratios.sum())


def _errors(
    deployed: Sequence[Deployed], weights: NDArray[np.float64], squares: NDArray[np.float64]
) -> dict[str, tuple[float, float]]:
    """Returns errors of level and ratio by group, and sets those of each deployment."""
    means = squares[:, :2] / squares[:, 2:]
    overall = weights @ means / weights.sum()
    groups = [each.first.traits.group for each in deployed]
    by_group = {}
    for name in set(groups):
        inside = weights * np.array([group == name for group in groups])
        by_group[name] = (inside @ means + ERROR_COUNT * overall) / (inside.sum() + ERROR_COUNT)
    for each, group, square in zip(deployed, groups, squares, strict=True):
        own = (4 * by_group[group] + square[:2]) / (4 + square[2:])
        each.level = float(np.clip(np.sqrt(own[0]), LEAST_LEVEL, MOST_LEVEL))
        each.ratio = max(float(np.sqrt(own[1])), LEAST_RATIO)
    roots = {name: np.sqrt(value) for name, value in {**by_group, "all": overall}.items()}
    return {name: (min(float(a), MOST_LEVEL), float(b)) for name, (a, b) in roots.items()}


def _doubts(
    deployed: Sequence[Deployed],
    weights: NDArray[np.float64],
    design: NDArray[np.float64],
    ridge: NDArray[np.float64],
    covariance: NDArray[np.float64],
) -> dict[str, float]:
    """Returns by how much deviations are too small, at least 1, for each kind of draft.

    Every source's gains are foretold by the means without it; the 90 % quantile of how many
    deviations they are off, over a normal law's, shrunk to 1 where few sources tell.
    """
    owners = np.array([each.first.owner for each in deployed])
    found = np.array([each.logs for each in deployed])
    off: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    for owner in set(owners):
        others = owners != owner
        effects = _effects(design[others], weights[others], ridge, found[others])
        for index in np.flatnonzero(~others):
            each, mean = deployed[index], design[index] @ effects
            gains = each.evidence.paired
            slopes = each.evidence.slopes(mean)[gains]
            own = FEW_SOURCES * np.einsum("ij,jk,ik->i", slopes, covariance, slopes)
            far = np.abs(each.evidence.misfit(mean)[gains]) / np.sqrt(own + each.ratio**2)
            of_kind = off[each.first.traits.draft]
            of_kind += [(float(one), each.weight / len(far), owner) for one in far]
    doubts = {}
    for name, rows in off.items():
        far, weight = (np.array(column) for column in list(zip(*sorted(rows), strict=True))[:2])
        quantile = far[np.searchsorted(np.cumsum(weight), 0.9 * weight.sum())]
        sources = len({owner for *_, owner in rows})
        share = sources / (sources + DOUBT_COUNT)
        doubts[name] = max(1.0, float(quantile / ndtri(0.95)) ** share)
    return doubts


def _effects(
    design: NDArray[np.float64],
    weights: NDArray[np.float64],
    ridge: NDArray[np.float64],
    found: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Returns the mean and what each trait adds to it, by ridge regression."""
    weighted = design.T * weights
    target = weighted @ found
    target[0] += ridge[0, 0] * FIRST_LOGS
    return np.asarray(np.linalg.solve(weighted @ design + ridge, target))


def _rounded(values: Any) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
