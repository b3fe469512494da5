"""The cost model fitted to probes."""

import numpy as np
import pytest

from estimator.costs import fit_costs, probe_policy
from reference.records import Block
from simulator.cost import CostModel


def block(gamma: int, *, draft: float, verify: float, other: float) -> Block:
    return Block(
        gamma=gamma,
        drafted=(0,) * gamma,
        tokens=(0,),
        accepted=0,
        draft_seconds=draft,
        verify_seconds=verify,
        other_seconds=other,
        ending=None,
    )


def probe(gammas: list[int], generator: np.random.Generator) -> list[Block]:
    """Returns blocks that cost 2 ms a draft step, 10 + n ms a target pass, 3 ms besides."""
    return [
        block(
            gamma,
            draft=0.0015 * gamma,
            verify=0.010 + 0.001 * (gamma + 1),
            # every tenth block is held up
            other=0.003 + 0.0005 * gamma + (generator.random() < 0.1),
        )
        for gamma in gammas
    ]


def test_known_costs_are_recovered_in_spite_of_hold_ups() -> None:
    generator = np.random.default_rng(0)
    baseline = [block(0, draft=0, verify=0.011, other=0.0002)] * 9
    cost = fit_costs(baseline, probe([1, 2, 4, 8] * 20, generator))
    assert cost.draft_seconds == pytest.approx(0.002)
    assert cost.overhead_seconds == pytest.approx(0.003)
    assert cost.baseline_overhead_seconds == pytest.approx(0.0002)
    for n in (1, 2, 3, 5, 9):
        assert cost.verify_seconds(n) == pytest.approx(0.010 + 0.001 * n)


def test_one_draft_length_alone_is_split_by_the_draft_passes() -> None:
    baseline = [block(0, draft=0, verify=0.011, other=0.0)]
    cost = fit_costs(baseline, [block(4, draft=0.006, verify=0.015, other=0.005)] * 3)
    assert cost.draft_seconds == pytest.approx(0.0015)
    assert cost.overhead_seconds == pytest.approx(0.005)
    assert cost.verify_seconds(5) == pytest.approx(0.015)


def test_a_drafter_that_proposed_nothing_costs_its_search() -> None:
    baseline = [block(0, draft=0, verify=0.011, other=0.0)]
    cost = fit_costs(baseline, [block(0, draft=0.001, verify=0.011, other=0.002)] * 3)
    assert cost.draft_seconds == 0
    assert cost.overhead_seconds == pytest.approx(0.003)


def beside(seconds: dict[int, float], counts: dict[int, int]) -> CostModel:
    """Returns the model of blocks that take these seconds beside verification, by draft length."""
    baseline = [block(0, draft=0, verify=0.010, other=0.0)]
    blocks = [
        block(gamma, draft=0.0, verify=0.010, other=seconds[gamma])
        for gamma, count in counts.items()
        for _ in range(count)
    ]
    return fit_costs(baseline, blocks)


def test_a_line_inside_its_bounds_is_the_least_squares_line() -> None:
    counts = {1: 4, 2: 1, 4: 3}
    cost = beside({1: 0.004, 2: 0.007, 4: 0.008}, counts)
    weights = np.sqrt(list(counts.values()))
    slope, intercept = np.polyfit([1, 2, 4], [0.004, 0.007, 0.008], 1, w=weights)
    assert cost.draft_seconds == pytest.approx(slope)
    assert cost.overhead_seconds == pytest.approx(intercept)


def test_a_falling_line_is_held_flat_at_the_mean() -> None:
    cost = beside({1: 0.005, 3: 0.002}, {1: 4, 3: 2})
    assert cost.draft_seconds == 0
    assert cost.overhead_seconds == pytest.approx((4 * 0.005 + 2 * 0.002) / 6)


def test_a_line_that_starts_below_zero_is_held_to_the_origin() -> None:
    cost = beside({1: 0.001, 2: 0.004}, {1: 3, 2: 1})
    assert cost.overhead_seconds == 0
    assert cost.draft_seconds == pytest.approx((3 * 1 * 0.001 + 1 * 2 * 0.004) / (3 * 1 + 1 * 4))


def test_blocks_that_take_nothing_besides_cost_nothing() -> None:
    cost = beside({1: 0.0, 2: 0.0}, {1: 1, 2: 1})
    assert (cost.draft_seconds, cost.overhead_seconds) == (0, 0)


def test_a_lone_gamma_is_probed_beside_no_draft_at_all() -> None:
    assert probe_policy([4]).gammas == (0, 4)
    assert probe_policy([8, 2, 8]).gammas == (2, 8)
