"""Plans whose cost is in doubt: from runs alone, and from a roofline that runs correct."""

import numpy as np
import pytest
from served_machines import SERVED

from simulator.acceptance.accepted import Accepted
from simulator.acceptance.by_position import ByPosition
from simulator.acceptance.from_counts import from_counts
from simulator.acceptance.iid import Iid
from simulator.choice.gain import best_gamma, speed_up
from simulator.choice.in_doubt import plan_in_doubt
from simulator.cost.machine import Drafting, LoadPoint, Unseen
from simulator.cost.parameters import COUNT
from simulator.cost.parametric_cost import ParametricCost
from simulator.cost.posterior import Prior, infer
from simulator.cost.published_prior import Traits, published_prior, vague_prior
from simulator.cost.runs import Run

LOAD = LoadPoint(1000)
PRIOR = published_prior(Traits("vllm", "EAGLE"))


def run(gamma: int, milliseconds: float, length: float = 1.0) -> Run:
    return Run(LOAD, milliseconds / 1e3, Drafting(gamma) if gamma else None, length)


def test_without_doubt_it_is_the_plan_of_the_cost_itself() -> None:
    sure = Prior(PRIOR.logs, 1e-16 * np.eye(COUNT), 1e-9, 1e-9)
    posterior = infer(SERVED, sure, [])
    cost = ParametricCost.of(posterior, LOAD)
    plan = plan_in_doubt(posterior, Iid(0.8), LOAD, max_gamma=12)
    assert plan.speed_up.middle == pytest.approx(speed_up(Iid(0.8), cost, plan.gamma))
    assert plan.speed_up.high == pytest.approx(plan.speed_up.low, rel=1e-6)
    assert plan.advice.best == best_gamma(Iid(0.8), cost, max_gamma=12)
    assert plan.milliseconds.middle == pytest.approx(
        1e3 * cost.baseline_seconds / plan.speed_up.middle
    )
    assert plan.baseline_milliseconds.middle[0] == pytest.approx(1e3 * cost.baseline_seconds)
    assert plan.evidence == 0


def test_what_a_server_user_knows_is_enough() -> None:
    """Published: Apertus 8B with an EAGLE head, 5.82, 3.375 and 1.765 ms a token; γ 3 had 2.16."""
    runs = [run(0, 5.82), run(1, 3.375, 1.853), run(7, 1.765, 4.522)]
    posterior = infer(Unseen(), vague_prior([each.step_seconds for each in runs]), runs)
    plan = plan_in_doubt(
        posterior, from_counts([Accepted(1, 1.853), Accepted(7, 4.522)]), LOAD, max_gamma=7
    )
    assert plan.milliseconds.low[2] < 2.16 < plan.milliseconds.high[2]
    assert plan.milliseconds.middle[2] == pytest.approx(2.16, rel=0.05)
    assert plan.advice.certain
    assert plan.advice.best in (6, 7)
    assert plan.evidence == 3


def test_one_run_says_which_to_try_next() -> None:
    runs = [run(0, 7.1), run(3, 4.1, 2.85)]
    posterior = infer(Unseen(), vague_prior([each.step_seconds for each in runs]), runs)
    plan = plan_in_doubt(posterior, from_counts([Accepted(3, 2.85)]), LOAD)
    tried = plan.advice.next_run
    assert tried is not None
    assert tried.gamma not in (0, 3)
    # What was run is known well, what was not is a range.
    width = plan.speed_up.high / plan.speed_up.low
    assert width[2] == width.min()
    assert width[-1] > 1.5 * width[2]


def test_doubtful_lengths_widen_the_intervals() -> None:
    posterior = infer(SERVED, PRIOR, [run(0, 7.1), run(3, 4.1, 2.85)])
    acceptance = from_counts([Accepted(3, 2.85)])
    doubtful = plan_in_doubt(posterior, acceptance, LOAD)
    given = plan_in_doubt(posterior, ByPosition(acceptance.conditional), LOAD)
    assert doubtful.speed_up.middle == pytest.approx(given.speed_up.middle)
    assert doubtful.speed_up.high[7] > given.speed_up.high[7]


def test_max_gamma_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="max_gamma must be at least 1, got 0"):
        plan_in_doubt(infer(SERVED, PRIOR, []), Iid(0.5), LOAD, max_gamma=0)
