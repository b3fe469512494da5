"""Plans whose cost is in doubt: from runs only, and from a roofline that runs correct."""

import numpy as np
import pytest

from simulator.acceptance.acceptance import Acceptance, Iid, PositionRates
from simulator.acceptance.accepted import Accepted
from simulator.acceptance.from_counts import from_counts
from simulator.choice.curve import baseline_seconds, best_gamma, speed_up, token_seconds
from simulator.choice.plan import Plan, plan
from simulator.cost.cost import ChangedCost
from simulator.cost.fitted.by_batch import posterior_of_runs
from simulator.cost.fitted.fit import ParametricCost, infer
from simulator.cost.fitted.machine import COUNT
from simulator.cost.fitted.posterior import Posterior
from simulator.cost.fitted.prior import Prior, Traits, published_prior
from simulator.cost.fitted.runs import LoadPoint, Run
from simulator.cost.setting import Wall
from simulator.numerics.intervals import deviations
from tests.simulator.served_machines import SERVED

LOAD = LoadPoint(1000)
PRIOR = published_prior(Traits("vllm", "EAGLE"))
GRAPHS = Wall("tokens", 512, "--max-cudagraph-capture-size", "")
REQUESTS = Wall("requests", 256, "--cuda-graph-max-bs", "")


def run(gamma: int, milliseconds: float, length: float = 1.0) -> Run:
    return Run(LOAD, milliseconds / 1e3, gamma, length, error=0.02)


def doubtful(posterior: Posterior, acceptance: Acceptance, *, max_gamma: int = 16) -> Plan:
    return plan(acceptance, ParametricCost(posterior, LOAD), max_gamma=max_gamma)


def test_without_doubt_it_is_the_plan_of_the_cost_itself() -> None:
    sure = Prior(PRIOR.logs, 1e-16 * np.eye(COUNT), 1e-9, 1e-9)
    posterior = infer(SERVED, sure, [])
    cost = ChangedCost(ParametricCost(posterior, LOAD))
    found = doubtful(posterior, Iid(0.8), max_gamma=12)
    assert found.curve.improvement_factor == pytest.approx(
        speed_up(Iid(0.8), cost, found.curve.gamma)
    )
    assert found.curve.high == pytest.approx(found.curve.low, rel=1e-6)
    assert found.optimal_gamma == best_gamma(Iid(0.8), cost, max_gamma=12)
    times = token_seconds(Iid(0.8), found.cost, found.curve.gamma).quantile(0.5)
    assert times == pytest.approx(cost.baseline_seconds / found.curve.improvement_factor)
    assert baseline_seconds(found.cost).quantile(0.5)[0] == pytest.approx(cost.baseline_seconds)


def test_knowledge_of_a_server_user_suffices() -> None:
    """Published: Apertus 8B with an EAGLE head, 5.82, 3.375 and 1.765 ms a token; γ 3 had 2.16."""
    runs = [run(0, 5.82), run(1, 3.375, 1.853), run(7, 1.765, 4.522)]
    posterior = posterior_of_runs(runs)
    found = doubtful(posterior, from_counts([Accepted(1, 1.853), Accepted(7, 4.522)]), max_gamma=7)
    law = token_seconds(found.acceptance, found.cost, found.curve.gamma)
    low, middle, high = (1e3 * law.quantile(share)[2] for share in (0.05, 0.5, 0.95))
    assert low < 2.16 < high
    assert middle == pytest.approx(2.16, rel=0.05)
    assert found.advice.certain
    assert found.optimal_gamma in (6, 7)


def test_one_run_says_which_to_try_next() -> None:
    runs = [run(0, 7.1), run(3, 4.1, 2.85)]
    posterior = posterior_of_runs(runs)
    found = doubtful(posterior, from_counts([Accepted(3, 2.85)]))
    tried = found.advice.next_run
    assert tried is not None
    assert tried.gamma not in (0, 3)
    assert tried.gamma <= 6
    # The γ that was run is known well, others are a range.
    width = found.curve.high / found.curve.low
    assert width[2] == width.min()
    assert width[-1] > 1.5 * width[2]


def test_runs_of_a_small_gain_are_kept() -> None:
    runs = [run(0, 9.5), run(3, 8.9, 2.1)]
    posterior = posterior_of_runs(runs)
    found = doubtful(posterior, from_counts([Accepted(3, 2.1)]))
    assert (found.advised_gamma, found.advice.measured) == (3, True)
    # Without a baseline there is no measured gain.
    posterior = posterior_of_runs(runs[1:])
    found = doubtful(posterior, from_counts([Accepted(3, 2.1)]))
    assert not found.advice.measured
    assert found.advice.next_run is not None
    assert found.advice.next_run.gamma == 0


def test_doubtful_lengths_widen_the_intervals_of_gammas_without_a_run() -> None:
    posterior = infer(SERVED, PRIOR, [run(0, 7.1), run(3, 4.1, 2.85)])
    acceptance = from_counts([Accepted(3, 2.85)])
    unsure = doubtful(posterior, acceptance).curve
    given = doubtful(posterior, PositionRates(acceptance.conditional)).curve
    assert unsure.improvement_factor == pytest.approx(given.improvement_factor)
    assert unsure.high[7] > given.high[7]
    # The time of a token was measured in that run, so its length's error cancels.
    assert unsure.high[2] == pytest.approx(given.high[2])


@pytest.mark.parametrize("sampled", [0.0, 0.04])
def test_lucky_texts_do_not_speed_up_a_gamma(sampled: float) -> None:
    """Blocks of 3 and of 4 take 12 ms; the texts of the run at K = 3 were easier by chance."""
    counts = [
        Accepted(3, 2.7, (0.76, 0.56, 0.38), 200),
        Accepted(4, 2.5, (0.7, 0.4, 0.25, 0.15), 200),
    ]
    error = np.hypot(0.005, sampled)
    runs = [Run(LOAD, 0.01, error=0.005)]
    runs += [
        Run(LOAD, 0.012 / one.length, one.gamma, one.length, error, one.rates, 200,
            length_error=sampled)
        for one in counts
    ]  # fmt: skip
    acceptance = from_counts(counts)
    curve = doubtful(posterior_of_runs(runs), acceptance, max_gamma=4).curve
    lengths = np.array([2.7, 2.5]) if sampled == 0 else acceptance.tokens_per_call([3, 4])
    assert curve.improvement_factor[2:] == pytest.approx(lengths / 1.2, rel=0.01)
    # With the same texts, the time of a token was measured; with others, its length is in doubt.
    errors = np.log(curve.high / curve.low)[2:] / 2 / deviations()
    assert (errors > 0.02).all() == (sampled > 0)
    assert errors.max() < 1.5 * error + 0.005


def test_a_draft_model_that_was_never_run_is_undecided_until_it_was() -> None:
    prior = published_prior(Traits("vllm", "model"))
    assert not infer(SERVED, prior, []).calibrated
    assert not infer(SERVED, prior, [run(0, 7.1)]).calibrated
    assert infer(SERVED, prior, [run(0, 7.1), run(3, 4.1, 2.85)]).calibrated
    assert infer(SERVED, PRIOR, []).calibrated


@pytest.mark.parametrize("batch", [1, 64, 127, 128, 129, 170, 256, 511, 512, 513, 4096])
def test_no_step_beyond_the_graphs_is_advised_while_the_baseline_is_within(batch: int) -> None:
    point = LoadPoint(1000, batch)
    cost = ParametricCost(infer(SERVED, PRIOR, []), point)
    for wall in (GRAPHS, REQUESTS):
        found = plan(Iid(0.9), cost.with_setting(wall=wall))
        gammas = {found.advised_gamma, found.advice.named, found.optimal_gamma} - {0}
        within = not wall.beyond(batch, 0)
        assert not any(within and wall.beyond(batch, gamma) for gamma in gammas)
        assert found.curve.beyond_graphs.tolist() == [
            batch * (gamma + 1 if wall is GRAPHS else 1) > wall.most for gamma in range(1, 33)
        ]
        if not within or wall is REQUESTS:
            # Both lie beyond, or the limit does not depend on γ: the order is as without it.
            assert found.advised_gamma == plan(Iid(0.9), cost).advised_gamma
