"""The cost model fitted to probes."""

import numpy as np
import pytest

from estimator.timing.rates import fit_costs
from reference.records import Block, Generation


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


@pytest.mark.parametrize(
    ("blocks", "draft", "overhead"),
    [
        # One draft length: split by the draft's passes, or by what it adds to blocks without one.
        ([(4, 0.006, 0.005)] * 3, 0.0015, 0.005),
        ([(1, 0.0015, 0.0035)] * 2, 0.0015, 0.0035),
        ([(0, 0.0, 0.002), (4, 0.006, 0.004)], (0.006 + 0.004 - 0.002) / 4, 0.002),
        # Rounding leaves less than nothing: 0.0031 - 0.0031 / 3 * 3 < 0.
        ([(3, 0.0031, 0.0)], 0.0031 / 3, 0.0),
        # A drafter that proposed nothing costs its search.
        ([(0, 0.001, 0.002)] * 3, 0.0, 0.002),
        # Two draft lengths give the step; blocks without a draft do not change it.
        ([(0, 0.0, 0.001), (1, 0.0015, 0.0035), (4, 0.006, 0.005)], 0.002, 0.001),
        # A falling line has free steps; one that starts below zero is no overhead.
        ([(1, 0.0, 0.005)] * 4 + [(3, 0.0, 0.002)] * 2, 0.0, 0.002),
        ([(1, 0.0, 0.001)] * 3 + [(2, 0.0, 0.004)], 0.003, 0.0),
        ([(1, 0.0, 0.0), (2, 0.0, 0.0)], 0.0, 0.0),
    ],
)  # fmt: skip
def test_steps_and_overhead_are_the_line_within_its_bounds(
    blocks: list[tuple[int, float, float]], draft: float, overhead: float
) -> None:
    """Blocks by drafted tokens, with seconds of drafting and others; all keep their own time."""
    cost = fit_costs(
        STEP, once([block(g, draft=d, verify=0.012, other=other) for g, d, other in blocks])
    )
    assert cost.draft_seconds == pytest.approx(draft, abs=1e-12)
    assert cost.overhead_seconds == pytest.approx(overhead, abs=1e-12)
    for gamma, drafting, other in blocks:
        verify = 0.011 if gamma == 0 else 0.012
        assert cost.block_seconds(gamma) == pytest.approx(verify + drafting + other)


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


def test_steps_and_overhead_are_the_least_squares_line_of_all_blocks() -> None:
    seconds, counts = {1: 0.004, 2: 0.007, 4: 0.008}, {1: 4, 2: 1, 4: 3}
    blocks = [block(g, draft=0.0, verify=0.010, other=t) for g, t in seconds.items()]
    cost = fit_costs(STEP, once([each for each in blocks for _ in range(counts[each.gamma])]))
    weights = np.sqrt(list(counts.values()))
    slope, intercept = np.polyfit(list(seconds), list(seconds.values()), 1, w=weights)
    assert cost.draft_seconds == pytest.approx(slope)
    assert cost.overhead_seconds == pytest.approx(intercept)


def test_a_plain_step_is_the_baselines_whatever_blocks_without_a_draft_took() -> None:
    nothing_drafted = block(0, draft=0.0, verify=0.5, other=0.003)
    cost = fit_costs(STEP, once([nothing_drafted, *probed([1, 4]).blocks]))
    assert cost.verify_seconds(1) == pytest.approx(0.011)


def test_a_draft_length_is_observed_where_something_was_drafted_and_nowhere_else() -> None:
    nothing = once([block(0, draft=0.001, verify=0.011, other=0.003)] * 3)
    assert fit_costs(STEP, nothing).observed_gamma is None
    cost = fit_costs(STEP, [probed([1, 2, 4, 8])])
    assert cost.observed_gamma == 8
    assert cost.c > 0
