"""The choice of the fastest tree, and of the chain to compare with."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from simulator.acceptance.acceptance import Iid
from simulator.choice.curve import speed_up
from simulator.cost.cost import Ratio
from simulator.cost.curves import CostModel
from simulator.cost.fitted.by_batch import cost_of_runs
from simulator.cost.fitted.runs import LoadPoint, Run
from simulator.schemes.tree_choice import (
    Passes,
    TreeChoice,
    TreePlan,
    choose_tree,
    fastest_trees,
)
from simulator.schemes.trees import TreeAcceptance, chain, depths_and_ranks, draft_passes
from tests.simulator.planned import planned

RATES = [0.6, 0.15, 0.07, 0.04, 0.02]
FREE = Passes(Ratio(0.0), {1: 0.0})


def trees(nodes: int) -> Iterator[tuple[int, ...]]:
    """Yields every tree of that size."""
    return itertools.product(*[range(-1, place) for place in range(nodes)])


def factor(parents: tuple[int, ...], rates: list[float], passes: Passes) -> float:
    shapes = {len(parents): parents}
    acceptance = TreeAcceptance(tuple(rates), shapes)
    return float(speed_up(acceptance, passes.of_trees(shapes), len(parents)))


def test_a_block_of_a_tree_costs_its_passes_and_its_verification() -> None:
    alone = CostModel({1: 10.0, 5: 14.0}, draft_seconds=1.0, overhead_seconds=0.5)
    passes = Passes(alone, {3: 2.0, 1: 1.0})
    shapes = {4: (-1, -1, 0, 1), 0: ()}
    cost = passes.of_trees(shapes)
    assert cost.block_seconds(4) == pytest.approx(1.0 + 1.5 + 14.0 + 0.5)
    assert cost.block_seconds(0) == pytest.approx(10.5)
    tokens = TreeAcceptance(tuple(RATES), shapes).tokens_per_call(4)
    assert factor(shapes[4], RATES, passes) == pytest.approx(tokens * 10 / 17)


def test_a_chain_has_the_numbers_of_its_plan_also_as_a_tree() -> None:
    """It is drafted without a tree, so that its passes read one token each."""
    cost = CostModel({1: 1.0, 9: 1.6}, draft_seconds=0.05, draft_curve={1: 0.09})
    passes = Passes(cost, {1: 0.05, 9: 0.45})
    choice = choose_tree([0.8, 0.02], passes, max_nodes=12, max_depth=12)
    alone = planned(Iid(0.8), cost, max_gamma=12)
    assert len(choice.chain.parents) == alone.optimal_gamma > 3
    assert choice.chain.speedup == pytest.approx(alone.improvement_factor)
    assert choice.chain.tokens == pytest.approx(alone.expected_tokens)
    assert factor(choice.chain.parents, [0.8], passes) == pytest.approx(choice.chain.speedup)


def test_the_choice_is_the_best_of_a_plan_of_the_fastest_trees() -> None:
    passes = Passes(CostModel({1: 1.0, 6: 1.1}, draft_seconds=0.3), {1: 0.3, 6: 0.4})
    found = fastest_trees(RATES, passes, max_nodes=9, max_depth=4)
    best = planned(found, passes.of_trees(found.shapes), max_gamma=9)
    choice = choose_tree(RATES, passes, max_nodes=9, max_depth=4)
    assert choice.best == choice.by_nodes[best.optimal_gamma]
    speeds = [by_node.speedup for by_node in choice.by_nodes.values()]
    assert speeds == pytest.approx(best.curve.improvement_factor)
    assert best.break_even_c is None
    # Captured graphs of fewer nodes: the fastest of the smaller trees, and no longer chain.
    for captured in (0, 1, 3):
        limited = choose_tree(RATES, passes, max_nodes=9, max_depth=4, captured=captured)
        speed = max(1.0, *speeds[:captured], 0.0)
        assert limited.best.speedup == speed
        assert len(limited.best.parents) <= captured
        assert len(limited.chain.parents) == min(len(choice.chain.parents), captured)


def test_the_choice_is_the_fastest_of_all_trees_but_for_few_and_small_misses() -> None:
    """Only the tree with most tokens is considered at each size and depth."""
    source, missed = np.random.default_rng(7), []
    every = [shape for nodes in range(1, 6) for shape in trees(nodes)]
    for _ in range(20):
        rates = sorted(source.dirichlet(np.ones(4))[:3].tolist(), reverse=True)
        curves = ({1: 1.0, 6: source.uniform(1, 3)}, {1: 0.1, 6: source.uniform(0.1, 1)})
        passes = Passes(CostModel(curves[0], draft_seconds=0.1), curves[1])
        most = max(factor(shape, rates, passes) for shape in every)
        choice = choose_tree(rates, passes, max_nodes=5, max_depth=5)
        missed.append(max(most, 1.0) / choice.best.speedup - 1)
    assert -1e-12 < min(missed) <= max(missed) < 0.04
    assert sum(miss > 1e-9 for miss in missed) <= 1


def test_every_size_has_its_fastest_tree_and_chains_reach_both_bounds() -> None:
    free = Passes(Ratio(1e-3), {1: 1e-3})
    for max_nodes, max_depth, longest in ((4, 9, 4), (9, 3, 3), (1, 1, 1)):
        choice = choose_tree(
            [0.9, 0.05], free, max_nodes=max_nodes, max_depth=max_depth, captured=64
        )
        assert choice.chain.parents == chain(longest)
        assert list(choice.by_nodes) == list(range(1, max_nodes + 1))
        for nodes, found in choice.by_nodes.items():
            assert len(found.parents) == nodes
            assert found.depth <= max_depth
            assert found.widest == 1 + max(depths_and_ranks(found.parents)[1])
    # With a single choice, no tree has more nodes than levels.
    assert list(choose_tree([0.9], free, max_nodes=5, max_depth=3).by_nodes) == [1, 2, 3]
    assert max(choose_tree(RATES, free).by_nodes) == 64
    assert choose_tree([0.99], free).best.parents == chain(16)


@pytest.mark.parametrize(
    ("rates", "passes"),
    [
        # A second choice that is never accepted, with free passes: no speed-up, and no loss.
        ([0.0, 0.0], FREE),
        ([0.2], Passes(CostModel({1: 1.0, 2: 2.0}, draft_seconds=0.5), {1: 0.5})),
    ],
)
def test_where_nothing_pays_the_choice_is_not_to_speculate(
    rates: list[float], passes: Passes
) -> None:
    choice = choose_tree(rates, passes, max_nodes=4, max_depth=3)
    assert choice.best == choice.chain
    assert (choice.best.parents, choice.best.tokens, choice.best.speedup) == ((), 1.0, 1.0)
    assert (choice.best.depth, choice.best.widest) == (0, 0)


def test_of_trees_that_are_equally_fast_the_shallowest_stands() -> None:
    assert choose_tree([0.0, 0.0], FREE, max_nodes=4, max_depth=3).by_nodes[4].depth == 2


def test_over_fitted_runs_a_tree_checks_its_nodes_at_the_fits_ratio() -> None:
    """Beyond its runs, a fit's block of as many tokens as nodes is no time of checking."""
    load = LoadPoint(1024)
    runs = [Run(load, 0.010), Run(load, 0.008, 2, 2.0), Run(load, 0.0079, 4, 2.6)]
    cost, shape = cost_of_runs(runs), (-1, -1, -1, -1, 0, 0, 1, 2, 4, 5)
    block = Passes(cost, {1: 1e-3, 8: 2e-3}).of_trees({10: shape})
    law, depth, base = cost.posterior, 3, cost.baseline_seconds
    assert law is not None
    drafting = float(cost.drafting_seconds(depth)) + sum(
        1e-3 * (read - 1) / 7 for read in draft_passes(shape)
    )
    more = law.checking_ratio(load, 11) - law.checking_ratio(load, depth + 1)
    checking = float(cost.checking_seconds(depth)) + float(more) * base
    assert float(block.block_seconds(10)) == pytest.approx(drafting + checking)
    assert checking != pytest.approx(float(cost.checking_seconds(10)), rel=0.01)


def test_a_tree_that_is_no_faster_than_the_chain_is_not_the_fastest() -> None:
    alone = TreePlan(chain(2), 2.0, 1.3)
    for speed in (1.2, 1.3, 1.4):
        tree = TreePlan((-1, -1), 1.9, speed)
        choice = TreeChoice(best=tree, chain=alone, by_nodes={2: tree})
        assert choice.fastest is (tree if speed > 1.3 else alone)
