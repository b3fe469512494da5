"""Draws of a server in doubt, and requests of several kinds."""

import numpy as np
import pytest
from scipy.special import betaincinv

from simulator.acceptance.acceptance import Iid
from simulator.acceptance.counted import BlockEfficiency
from simulator.cost.cost import Ratio
from simulator.cost.fitted.fit import ParametricCost, infer
from simulator.cost.fitted.posterior import FittedMachine
from simulator.cost.fitted.prior import vague_prior
from simulator.cost.fitted.runs import LoadPoint, Run
from simulator.numerics.lattice import DRAWS
from simulator.traffic.blocks import KINDS, Blocks
from simulator.traffic.server import doubt_of
from tests.simulator.traffic.servers import server

POINT = LoadPoint(0, 1)


def test_draws_are_those_of_the_posterior() -> None:
    runs = [Run(POINT, 0.01), Run(POINT, 0.006, 3, 2.5)]
    posterior = infer(FittedMachine(), vague_prior([0.01]), runs)
    kept = server(slots=1)
    found = doubt_of([ParametricCost(posterior, POINT)], Iid(0.7), kept)
    assert found is not None
    forecast = posterior.seconds_per_token(POINT, range(5), [1.0] * 5)
    assert np.log(found.seconds[:, 0]) == pytest.approx(forecast.draws - forecast.medians)


def test_an_error_of_the_acceptance_is_one_of_the_time_per_token() -> None:
    counted, cost = BlockEfficiency(2.5, 3), Ratio(0.1)
    found = doubt_of([cost], counted, server())
    assert found is not None
    logs = np.log(found.seconds[:, 0])
    errors = np.sqrt(np.diag(counted.log_lengths(np.arange(1, 5))[1]))
    assert logs[:, 1:].std(axis=0) == pytest.approx(errors, rel=5e-3)
    assert not logs[:, 0].any()


def test_a_draw_serves_with_and_without_speculation() -> None:
    posterior = infer(FittedMachine(), vague_prior([0.01]), [Run(POINT, 0.01)])
    kept = server(slots=1)
    found = doubt_of([ParametricCost(posterior, POINT)], Iid(0.7), kept)
    assert found is not None
    alone = found.of(kept.without(kept.prompts))
    assert np.array_equal(alone.seconds[..., 0], found.of(kept).seconds[..., 0])
    assert alone.seconds.shape == (DRAWS, 1, 1)


def test_exact_costs_are_not_drawn() -> None:
    assert doubt_of([Ratio(0.1)], Iid(0.7), server()) is None


@pytest.mark.parametrize(
    ("alpha", "spread"), [(0.7, 0.1), (0.7, 1e-4), (0.5, 0.45), (0.95, 0.19), (0.03, 0.1)]
)
def test_kinds_of_request_are_the_medians_of_equal_parts_of_a_beta_law(
    alpha: float, spread: float
) -> None:
    total = alpha * (1 - alpha) / spread**2 - 1
    shares = (np.arange(KINDS) + 0.5) / KINDS
    wanted = betaincinv(alpha * total, (1 - alpha) * total, shares)
    found = Blocks.of(Iid(alpha), 2, spread=spread).accepted[:, 1]
    assert found == pytest.approx(wanted, rel=1e-4, abs=1e-9)
