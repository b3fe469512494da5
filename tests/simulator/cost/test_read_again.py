"""Reading accepted tokens again after a rejection: prices equal simulated blocks."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.acceptance.acceptance import Iid, PositionRates
from simulator.acceptance.replay import Replay
from simulator.acceptance.replayed import Replayed
from simulator.choice.plans import PlanRequest, plans
from simulator.cost.cost import Cost, Ratio
from simulator.cost.curves import CostModel
from simulator.cost.fitted.fit import ParametricCost, infer
from simulator.cost.fitted.machine import seconds_of
from simulator.cost.fitted.prior import Traits, published_prior
from simulator.cost.fitted.runs import LoadPoint, Run
from tests.simulator.served_machines import SERVED, cost_at

TARGET = {1: 0.010, 2: 0.013, 4: 0.014, 8: 0.021}
COST = CostModel(target_seconds=TARGET, draft_seconds=0.001, overhead_seconds=0.002)


@pytest.mark.parametrize("gamma", [1, 2, 5])
def test_a_rejection_behind_a_tokens_adds_a_pass_over_one_more(gamma: int) -> None:
    rates = (0.9, 0.5, 0.7, 0.2, 0.6)
    again = COST.reading_again(PositionRates(rates).rejected)
    expected, stands = float(COST.block_seconds(gamma)), 1.0
    for accepted in range(gamma):
        passes = float(np.interp(accepted + 1, list(TARGET), list(TARGET.values())))
        expected += stands * (1 - rates[accepted]) * passes
        stands *= rates[accepted]
    assert float(again.block_seconds(gamma)) == pytest.approx(expected, rel=1e-12)
    assert float(again.block_seconds(0)) == float(COST.block_seconds(0))


def test_free_verification_reads_again_for_a_step_after_each_rejection() -> None:
    again = Ratio(0.1).reading_again(Iid(0.8).rejected)
    assert float(again.block_seconds(3)) == pytest.approx(1.3 + (1 - 0.8**3), rel=1e-12)
    assert not again.verification_free


def test_rejections_of_a_recorded_text_are_those_of_its_blocks() -> None:
    rates = np.full(4000, 0.6)
    blocks = {g: tuple(Replay(rates).blocks(g) / len(rates)) for g in (1, 2, 3)}
    found = Replayed(0.6, blocks).rejected(3)
    np.testing.assert_allclose(found, [0.4, 0.24, 0.144], atol=2e-3)


LOAD, PRIOR = LoadPoint(1000), published_prior(Traits("vllm", "EAGLE"))
OFTEN = Iid(0.7)
AGAIN = replace(SERVED, rejected=OFTEN.rejected)


def test_a_machine_in_doubt_reads_again_as_its_cost_does() -> None:
    again = cost_at(AGAIN, LOAD, PRIOR.logs)
    alone = cost_at(SERVED, LOAD, PRIOR.logs)
    gammas = np.arange(6)
    expected = Cost.reading_again(alone, OFTEN.rejected).block_seconds(gammas)
    np.testing.assert_allclose(again.block_seconds(gammas), expected, rtol=1e-12)
    assert expected[3] > alone.block_seconds(3)


def test_doubt_remains_and_measured_runs_hold_their_second_readings() -> None:
    length = float(OFTEN.tokens_per_call(3))
    token = AGAIN.token_work(LOAD, 3, length)
    runs = [
        Run(LOAD, seconds_of(SERVED.token_work(LOAD, 0, 1), PRIOR.logs)),
        Run(LOAD, seconds_of(token, PRIOR.logs), 3, length),
    ]
    request = PlanRequest(
        (OFTEN,), (ParametricCost(infer(SERVED, PRIOR, runs), LOAD),), gamma=3, max_gamma=6
    )
    cut_back, again = (
        plans(replace(request, reads_again=reads_again))[0] for reads_again in (False, True)
    )
    measured = runs[0].seconds_per_token / runs[1].seconds_per_token
    for row in (cut_back, again):
        assert row.curve.low[2] < measured < row.curve.high[2]
    # The runs are as the machine has them, so nothing moves.
    assert np.exp(again.curve.gains.medians[2]) == pytest.approx(measured, rel=1e-6)
