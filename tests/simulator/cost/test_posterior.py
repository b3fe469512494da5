"""Runs combined with a prior: recovery, coverage of intervals, and impossible runs."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.acceptance.acceptance import Iid
from simulator.choice.curve import speed_up
from simulator.cost.fitted.by_batch import posterior_of_runs
from simulator.cost.fitted.contradictions import contradictions
from simulator.cost.fitted.draws import conditioned
from simulator.cost.fitted.fit import ParametricCost, infer
from simulator.cost.fitted.machine import COUNT, PARAMETERS, seconds_of
from simulator.cost.fitted.prior import Prior, Traits, published_prior
from simulator.cost.fitted.runs import LoadPoint, Run, pooled
from tests.simulator.served_machines import SERVED

MACHINE, PRIOR = SERVED, published_prior(Traits("vllm", "EAGLE"))
LOAD = LoadPoint(1000)


def run(gamma: int, milliseconds: float, length: float = 1.0, load: LoadPoint = LOAD) -> Run:
    return Run(load, milliseconds / 1e3, gamma, length)


def exact(logs: np.ndarray, gamma: int) -> float:
    """Returns the time of a token of MACHINE with these parameters."""
    work = MACHINE.token_work(LOAD, gamma, length(gamma))
    return float(seconds_of(work, logs))


def length(gamma: int) -> float:
    return 1 + 0.7 * gamma**0.8


def simulated(logs: np.ndarray, gammas: list[int], generator: np.random.Generator) -> list[Run]:
    """Returns a run without speculation and one for each γ, with the prior's errors."""
    off = PRIOR.level_error * generator.standard_normal()
    runs = [Run(LOAD, exact(logs, 0) * np.exp(off))]
    for gamma in gammas:
        wrong = off + PRIOR.ratio_error * generator.standard_normal()
        seconds = exact(logs, gamma) * np.exp(wrong)
        runs.append(Run(LOAD, seconds, gamma, length(gamma)))
    return runs


def test_without_runs_the_posterior_is_the_prior() -> None:
    posterior = infer(MACHINE, PRIOR, [])
    assert (posterior.logs == PRIOR.logs).all()
    assert (posterior.covariance == PRIOR.covariance).all()


def test_without_doubt_the_answer_is_that_of_the_parameters_and_runs_change_nothing() -> None:
    sure = Prior(PRIOR.logs, 1e-16 * np.eye(COUNT), 0.05, 0.05)
    length = float(Iid(0.8).tokens_per_call(4))
    posterior = infer(MACHINE, sure, [run(0, 9.0), run(3, 6.0, 2.0)])
    law = posterior.speed_ups(LOAD, [4], [length])
    cost = ParametricCost(posterior, LOAD)
    assert np.exp(law.medians[0]) == pytest.approx(float(speed_up(Iid(0.8), cost, 4)))
    assert posterior.logs == pytest.approx(PRIOR.logs, abs=1e-8)
    assert law.deviation[0] == pytest.approx(0.05, rel=1e-3)


def test_exact_runs_are_reproduced() -> None:
    """Runs without error, the prior a deviation off in everything: their speed-ups are found."""
    truth = PRIOR.logs + np.sqrt(np.diag(PRIOR.covariance))
    sharp = Prior(PRIOR.logs, PRIOR.covariance, 1e-3, 1e-3)
    gammas = [1, 2, 3, 4, 5, 6, 8]
    runs = [Run(LOAD, exact(truth, 0))]
    runs += [Run(LOAD, exact(truth, gamma), gamma, length(gamma)) for gamma in gammas]
    lengths = [length(each) for each in gammas]
    law = infer(MACHINE, sharp, runs).speed_ups(LOAD, gammas, lengths)
    measured = [exact(truth, 0) / exact(truth, each) for each in gammas]
    assert np.exp(law.medians) == pytest.approx(measured, rel=5e-3)


def test_ninety_percent_intervals_hold_on_simulated_deployments() -> None:
    """150 deployments drawn from a prior; false alarm 1 in 10,000 at 3.9 deviations."""
    generator = np.random.default_rng(20)
    # Narrower than the published one, of whose draws some contradict physics.
    prior = replace(PRIOR, covariance=PRIOR.covariance / 9)
    inside = np.zeros(3)
    for _ in range(150):
        truth = generator.multivariate_normal(prior.logs, prior.covariance)
        runs = simulated(truth, [2, 5], generator)
        wrong = np.exp(PRIOR.ratio_error * generator.standard_normal())
        measured = exact(truth, 0) / exact(truth, 7) * wrong
        for index, known in enumerate((runs[:0], runs[:2], runs)):
            law = infer(MACHINE, prior, known).speed_ups(LOAD, [7], [length(7)])
            inside[index] += law.quantile(0.05)[0] <= measured <= law.quantile(0.95)[0]
    allowed = 3.9 * np.sqrt(0.9 * 0.1 / 150)
    assert np.abs(inside / 150 - 0.9).max() < allowed


def test_each_run_with_drafts_narrows_the_interval() -> None:
    runs = [run(0, 7.1), run(3, 4.1, 2.85), run(7, 4.3, 3.4)]
    widths = [
        infer(MACHINE, PRIOR, runs[:count]).speed_ups(LOAD, [5], [3.2]).deviation[0]
        for count in range(4)
    ]
    assert widths[3] < widths[2] < min(widths[:2])
    assert widths[3] < 0.5 * widths[0]


def test_a_runs_deviation_holds_only_at_its_load() -> None:
    """An error common to a load cancels between its γ, and is new elsewhere."""
    prior = replace(PRIOR, covariance=1e-6 * np.eye(COUNT), ratio_error=0.01, load_error=0.2)
    off = 1.3
    runs = [
        Run(LOAD, exact(PRIOR.logs, 0)),
        Run(LOAD, exact(PRIOR.logs, 3) / off, 3, length(3)),
    ]
    posterior = infer(MACHINE, prior, runs)
    elsewhere = LoadPoint(1000, 8)
    own, other, modelled = (
        given.speed_ups(load, [5], [length(5)])
        for given, load in (
            (posterior, LOAD), (posterior, elsewhere), (infer(MACHINE, prior, []), elsewhere),
        )
    )  # fmt: skip
    assert np.exp(own.medians[0]) == pytest.approx(
        off * exact(PRIOR.logs, 0) / exact(PRIOR.logs, 5), rel=0.01
    )
    assert other.medians[0] == pytest.approx(modelled.medians[0], abs=0.01)
    assert own.deviation[0] < 0.02
    assert other.deviation[0] > 0.19


def test_a_speed_up_is_at_most_the_tokens_of_a_block() -> None:
    wide = replace(PRIOR, covariance=6 * PRIOR.covariance)
    gammas = [1, 3, 7]
    most = np.array([length(gamma) for gamma in gammas])
    law = infer(MACHINE, wide, []).speed_ups(LOAD, gammas, most.tolist())
    assert (law.quantile(0.999) <= most).all()
    assert np.exp(law.medians + 3 * law.deviation).min() > most.max()
    for level in (0.8, 1.0, 1.2):
        below = [law.quantile(share) for share in np.linspace(0.01, 0.99, 99)]
        counted = np.mean(np.array(below) > level, axis=0)
        assert law.exceeds(level) == pytest.approx(counted, abs=0.011)


def test_a_run_that_gains_more_than_its_tokens_is_named_and_not_used() -> None:
    runs = [run(0, 7.0), run(3, 2.5, 2.0)]
    posterior = infer(MACHINE, PRIOR, runs)
    assert posterior.impossible == (runs[1],)
    without = infer(MACHINE, PRIOR, runs[:1])
    lengths = [length(gamma) for gamma in (1, 3, 5)]
    assert (
        posterior.speed_ups(LOAD, [1, 3, 5], lengths).draws
        == without.speed_ups(LOAD, [1, 3, 5], lengths).draws
    ).all()
    (named,) = contradictions(runs)
    assert named.startswith("The run at K = 3 is impossible: 2.80 times the speed without ")
    assert infer(MACHINE, PRIOR, [run(0, 7.0), run(3, 5.0, 2.0)]).impossible == ()
    # Within the noise of both runs it is possible.
    noisy = [replace(run(0, 7.0), error=0.02), replace(run(3, 3.4, 2.0), error=0.02)]
    assert infer(MACHINE, PRIOR, noisy).impossible == contradictions(noisy) == ()


def test_a_measured_step_holds_at_its_load_only() -> None:
    posterior = infer(MACHINE, PRIOR, [replace(run(0, 9.0), error=0.02), run(3, 6.0, 2.0)])
    law = posterior.seconds_per_token(LOAD, [0, 3], [1.0, 2.0])
    assert 1e3 * law.quantile(0.5)[0] == pytest.approx(9.0, rel=0.01)
    assert law.quantile(0.95)[0] / law.quantile(0.05)[0] < 1.11
    assert 1e3 * law.quantile(0.5)[1] == pytest.approx(6.0, rel=0.06)
    elsewhere = posterior.seconds_per_token(LoadPoint(1000, 8), [0], [1.0])
    assert elsewhere.quantile(0.95)[0] / elsewhere.quantile(0.05)[0] > 1.2


def test_a_step_is_no_quicker_than_nine_tenths_of_the_data_sheet() -> None:
    quick = replace(PRIOR, logs=PRIOR.logs - 3)
    law = infer(MACHINE, quick, []).seconds_per_token(LOAD, [0], [1.0])
    assert law.quantile(0.001)[0] >= MACHINE.least_seconds(LOAD) > 0


def speed_up_deviation(*runs: Run) -> float:
    """Returns the doubt of the speed-up at γ 3, without configurations."""
    return float(posterior_of_runs(runs).speed_ups(LOAD, [3], [2.85]).deviation[0])


def test_runs_that_agree_narrow_the_interval_and_runs_that_do_not_widen_it() -> None:
    plain, drafted = replace(run(0, 7.1), error=0.02), replace(run(3, 4.1, 2.85), error=0.02)
    once = speed_up_deviation(plain, drafted)
    assert speed_up_deviation(plain, drafted, drafted) < once
    off = replace(run(3, 4.5, 2.85), error=0.02)
    assert speed_up_deviation(plain, drafted, off) > 1.3 * once


def test_the_error_of_a_run_is_the_doubt_of_its_speed_up() -> None:
    """Two errors of 4 % are 5.7 % of a ratio; errors of 0.1 % leave the model's own."""
    rough, fine = (
        speed_up_deviation(
            replace(run(0, 7.1), error=error), replace(run(3, 4.1, 2.85), error=error)
        )
        for error in (0.04, 0.001)
    )
    assert rough == pytest.approx(np.hypot(0.057, 0.014), rel=0.1)
    assert fine < 0.02


def test_several_runs_of_a_setting_count_as_their_mean() -> None:
    (one,) = pooled([replace(run(3, 4.0, 2.8), error=0.02), replace(run(3, 4.41, 3.0), error=0.02)])
    assert one.seconds_per_token == pytest.approx(0.0042)
    assert one.length == pytest.approx(2.9)
    # Their logarithms differ by 0.0976: a standard deviation of 0.069, of the mean 0.0488.
    assert one.error == pytest.approx(np.log(4.41 / 4.0) / 2)
    (same,) = pooled([replace(run(3, 4.0, 2.8), error=0.02)] * 4)
    assert same.error == pytest.approx(0.01)


def test_a_run_without_baseline_counts_by_its_time() -> None:
    alone = infer(MACHINE, PRIOR, [run(3, 4.1, 2.85)])
    times = alone.seconds_per_token(LOAD, [3], [2.85])
    before = infer(MACHINE, PRIOR, []).seconds_per_token(LOAD, [3], [2.85])
    assert abs(np.log(0.0041) - times.medians[0]) < abs(np.log(0.0041) - before.medians[0])
    wide = alone.speed_ups(LOAD, [3], [2.85]).deviation[0]
    paired = infer(MACHINE, PRIOR, [run(0, 7.1), run(3, 4.1, 2.85)])
    assert paired.speed_ups(LOAD, [3], [2.85]).deviation[0] < wide


# Published: Apertus 8B with an EAGLE head on a GH200, one sequence (docs/roofline.md).
APERTUS = [run(0, 5.82), run(1, 3.375, 1.853), run(7, 1.765, 4.522)]


def test_two_runs_and_a_baseline_give_the_line_between_them() -> None:
    """γ 3 was 2.16 ms a token at a length of 3.13: a speed-up of 2.70."""
    posterior = posterior_of_runs(APERTUS)
    law = posterior.speed_ups(LOAD, [3], [3.13])
    assert np.exp(law.medians[0]) == pytest.approx(5.82 / 2.16, rel=0.03)
    assert law.quantile(0.05)[0] < 5.82 / 2.16 < law.quantile(0.95)[0]
    # (8 - 6.25) / 6 ms for each drafted token, and 6.25 - 0.29 less the step.
    values = dict(zip(PARAMETERS, np.exp(posterior.logs), strict=True))
    assert 1e3 * values["draft"] == pytest.approx(0.29, abs=0.06)


def test_one_run_leaves_a_range_that_holds_the_measurement() -> None:
    posterior = posterior_of_runs([APERTUS[0], APERTUS[2]])
    law = posterior.speed_ups(LOAD, [1, 7], [1.853, 4.522])
    assert law.quantile(0.05)[0] < 5.82 / 3.375 < law.quantile(0.95)[0]
    # The run itself is known, another γ is not.
    assert law.deviation[0] > 2 * law.deviation[1]


def test_runs_that_contradict_each_other_are_named() -> None:
    (step,) = contradictions([run(1, 4.0, 2.0), run(3, 2.5, 2.0)])
    assert step == (
        "A block of K = 3 takes 5 ms, and one of K = 1 8 ms: a longer block is seldom so much "
        "quicker."
    )
    (fewer,) = contradictions([run(0, 10.0), run(3, 8.0, 1.87), run(5, 7.4, 1.7)])
    assert fewer.startswith("Tokens per call fall from 1.87 at K = 3 to 1.70 at K = 5: were both")
    (apart,) = contradictions([run(3, 4.0, 2.8), run(3, 5.0, 2.8)])
    assert apart.startswith("Runs at K = 3 differ: 4 to 5 ms a token. Their mean is used")
    # Nothing follows for another load, nor for a difference between kernels.
    elsewhere = run(3, 2.5, 2.0, load=LoadPoint(1000, batch=2))
    assert contradictions([run(1, 4.0, 2.0), elsewhere]) == ()
    assert contradictions([run(7, 10.0, 4.0), run(8, 8.0, 4.0)]) == ()
    # A block that drafted 3 of at most 8 tokens may be shorter than one of 5.
    assert contradictions([run(5, 9.0, 3.0), replace(run(8, 5.0, 3.0), drafted=3.0)]) == ()


def test_a_stated_parameter_leaves_no_doubt_and_the_others_as_they_were() -> None:
    roof, layer = PARAMETERS.index("roof"), PARAMETERS.index("layer")
    known = PRIOR.fixed(roof=1.25, layer=0.0)
    assert np.exp(known.logs[[roof, layer]]).tolist() == pytest.approx([1.25, 0.0])
    assert np.sqrt(np.diag(known.covariance)[[roof, layer]]).max() < 1e-3
    assert np.count_nonzero(known.covariance[[roof, layer]]) == 2
    others = np.delete(np.arange(len(PARAMETERS)), [roof, layer])
    assert (known.logs[others] == PRIOR.logs[others]).all()
    kept = np.ix_(others, others)
    assert (known.covariance[kept] == PRIOR.covariance[kept]).all()


def test_conditioned_draws_are_quantiles_of_the_allowed_draws() -> None:
    """The quantiles of 1/8, 3/8, 5/8 and 7/8 between allowed draws at 1/4 and 3/4."""
    values, every = np.array([[3.0, 1.0, 4.0, 2.0], [-3.0, 1.0, -4.0, 0.0]]), np.arange(4.0)
    of_two, again = conditioned(values, [np.array([10.0, 20.0]), np.array([10.0, 20.0])])
    assert of_two == pytest.approx([17.5, 10.0, 20.0, 12.5])
    assert again == pytest.approx([12.5, 20.0, 10.0, 17.5])
    assert conditioned(values, [every, every]).tolist() == values.tolist()


def test_the_length_of_rates_by_position_has_the_targets_own_token() -> None:
    assert Run.of(3, tpot=4.1, rates=(0.8, 0.6, 0.4)).length == pytest.approx(2.8)
