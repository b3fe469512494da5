"""The cost model fitted to probes."""

import numpy as np
import pytest

from estimator.costs.blocks import fit_costs, priced_ratio
from reference.records import Block, Generation
from simulator.cost.curves import CostModel


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


def run(blocks: list[Block]) -> Generation:
    return Generation((0,), tuple(blocks), 0.0)


def once(blocks: list[Block]) -> list[Generation]:
    """Returns one prompt's text."""
    return [run(blocks)]


STEP = once([block(0, draft=0, verify=0.011, other=0.0002)] * 9)


def probed(gammas: list[int]) -> Generation:
    """Returns blocks that cost 2 ms a draft step, 10 + n ms a target pass, 3 ms of overhead."""
    return run(
        [
            block(
                gamma,
                draft=0.0015 * gamma,
                verify=0.010 + 0.001 * (gamma + 1),
                other=0.003 + 0.0005 * gamma,
            )
            for gamma in gammas
        ]
    )


def test_known_costs_are_recovered() -> None:
    cost = fit_costs(STEP, [probed([1, 2, 4, 8] * 3), probed([1, 2, 4, 8, 3])])
    assert cost.draft_seconds == pytest.approx(0.002)
    assert cost.overhead_seconds == pytest.approx(0.003)
    assert cost.baseline_overhead_seconds == pytest.approx(0.0002)
    for n in (1, 2, 3, 4, 5, 9):
        assert cost.verify_seconds(n) == pytest.approx(0.010 + 0.001 * n)


def test_a_block_that_is_held_up_costs_nothing_more_though_the_run_is_not_repeated() -> None:
    held_up = block(4, draft=0.006, verify=0.015, other=0.005 + 2.4)  # of two of its length
    cost = fit_costs(STEP, once([*probed([1, 2, 4, 8]).blocks, held_up]))
    for gamma in (1, 2, 4, 8):
        assert cost.verify_seconds(gamma + 1) == pytest.approx(0.011 + 0.001 * gamma)
    assert cost.draft_seconds == pytest.approx(0.002)
    assert cost.overhead_seconds == pytest.approx(0.003)


def test_costs_add_up_to_the_time_of_the_runs_that_they_are_of() -> None:
    """On a machine of two speeds, neither of which is the run's: a median over blocks is one."""
    generator = np.random.default_rng(0)
    blocks = [
        block(gamma, draft=0.001 * gamma * slow, verify=0.010 * slow, other=0.001 * slow)
        for gamma, slow in zip([0, 2] * 50, generator.choice([1.0, 2.0], 100), strict=True)
    ]
    cost = fit_costs(once(blocks[::2]), once(blocks))
    priced = sum(cost.block_seconds(len(b.drafted)) for b in blocks)
    whole = sum(b.seconds for b in blocks)
    assert priced == pytest.approx(whole)


def test_prompts_weigh_by_their_blocks() -> None:
    fast, slow = (block(0, draft=0, verify=v, other=0.0) for v in (0.010, 0.020))
    cost = fit_costs([run([fast] * 3), run([slow])], [probed([1, 2])])
    assert cost.verify_seconds(1) == pytest.approx((3 * 0.010 + 0.020) / 4)


def test_one_draft_length_alone_is_split_by_the_draft_passes() -> None:
    cost = fit_costs(STEP, once([block(4, draft=0.006, verify=0.015, other=0.005)] * 3))
    assert cost.draft_seconds == pytest.approx(0.0015)
    assert cost.overhead_seconds == pytest.approx(0.005)
    assert cost.verify_seconds(5) == pytest.approx(0.015)


def test_what_rounding_leaves_below_nothing_is_nothing() -> None:
    assert 0.0031 - 0.0031 / 3 * 3 < 0
    cost = fit_costs(STEP, once([block(3, draft=0.0031, verify=0.015, other=0.0)]))
    assert cost.overhead_seconds == 0


def test_a_drafter_that_proposed_nothing_costs_its_search() -> None:
    cost = fit_costs(STEP, once([block(0, draft=0.001, verify=0.011, other=0.002)] * 3))
    assert cost.draft_seconds == 0
    assert cost.block_seconds(0) == pytest.approx(0.011 + 0.003)


def test_a_first_step_that_takes_less_than_later_ones_is_priced_as_it_is() -> None:
    """A line would price one draft too high, and three too low."""
    first, later = 0.0004, 0.001
    drafts = {g: first + later * (g - 1) for g in (1, 2, 4, 8)}
    cost = fit_costs(
        STEP, once([block(g, draft=d, verify=0.012, other=0.0003) for g, d in drafts.items()])
    )
    assert cost.draft_seconds == pytest.approx(later)
    for g, seconds in drafts.items():
        assert cost.block_seconds(g) == pytest.approx(seconds + 0.012 + 0.0003)


def test_one_draft_length_beside_none_is_split_by_what_it_adds() -> None:
    blocks = [
        block(0, draft=0, verify=0.010, other=0.002),
        block(4, draft=0.006, verify=0.015, other=0.004),
    ]
    cost = fit_costs(STEP, once(blocks))
    assert cost.draft_seconds == pytest.approx((0.006 + 0.004 - 0.002) / 4)
    assert cost.overhead_seconds == pytest.approx(0.002)
    assert cost.block_seconds(4) == pytest.approx(0.025)


def beside(seconds: dict[int, float], counts: dict[int, int]) -> CostModel:
    """Returns the cost of blocks that take these seconds in addition to verification, by length."""
    blocks = [
        block(gamma, draft=0.0, verify=0.010, other=seconds[gamma])
        for gamma, count in counts.items()
        for _ in range(count)
    ]
    return fit_costs(STEP, once(blocks))


def test_steps_and_overhead_inside_their_bounds_are_the_least_squares_line() -> None:
    counts = {1: 4, 2: 1, 4: 3}
    cost = beside({1: 0.004, 2: 0.007, 4: 0.008}, counts)
    weights = np.sqrt(list(counts.values()))
    slope, intercept = np.polyfit([1, 2, 4], [0.004, 0.007, 0.008], 1, w=weights)
    assert cost.draft_seconds == pytest.approx(slope)
    assert cost.overhead_seconds == pytest.approx(intercept)


def test_a_falling_line_has_free_steps_and_keeps_its_points() -> None:
    cost = beside({1: 0.005, 3: 0.002}, {1: 4, 3: 2})
    assert cost.draft_seconds == 0
    assert cost.overhead_seconds == pytest.approx(0.002)
    assert cost.drafting_seconds([1, 3]) == pytest.approx([0.003, 0])


def test_a_line_that_starts_below_zero_is_no_overhead() -> None:
    cost = beside({1: 0.001, 2: 0.004}, {1: 3, 2: 1})
    assert cost.overhead_seconds == 0
    assert cost.draft_seconds == pytest.approx(0.003)
    assert cost.drafting_seconds([1, 2]) == pytest.approx([0.001, 0.004])


def test_blocks_that_take_nothing_besides_cost_nothing() -> None:
    cost = beside({1: 0.0, 2: 0.0}, {1: 1, 2: 1})
    assert (cost.draft_seconds, cost.overhead_seconds) == (0, 0)


def test_a_plain_step_is_the_baselines_whatever_blocks_without_a_draft_took() -> None:
    nothing_drafted = block(0, draft=0.0, verify=0.5, other=0.003)
    cost = fit_costs(STEP, once([nothing_drafted, *probed([1, 4]).blocks]))
    assert cost.verify_seconds(1) == pytest.approx(0.011)


def test_a_step_is_what_two_draft_lengths_differ_by_though_none_was_drafted_beside() -> None:
    dear_start = block(0, draft=0.0, verify=0.011, other=0.001)
    cost = fit_costs(STEP, once([dear_start, *probed([1, 4]).blocks]))
    assert cost.draft_seconds == pytest.approx(0.002)


def test_one_token_drafted_alone_costs_what_its_pass_takes() -> None:
    cost = fit_costs(STEP, once(list(probed([1, 1]).blocks)))
    assert cost.draft_seconds == pytest.approx(0.0015)


def test_c_is_told_where_something_was_drafted_and_nowhere_else() -> None:
    nothing = once([block(0, draft=0.001, verify=0.011, other=0.003)] * 3)
    assert priced_ratio(fit_costs(STEP, nothing), nothing) is None
    cost = fit_costs(STEP, [probed([1, 2, 4, 8])])
    assert priced_ratio(cost, [probed([1, 2])]) == cost.c > 0
