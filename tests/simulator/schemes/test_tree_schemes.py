"""Trees: what they yield, the best of them against brute force, replay, and their costs."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from known_shapes import LLAMA_1B, LLAMA_8B, model_draft

from simulator.acceptance.tokens import expected_tokens
from simulator.cost.catalogue import find_hardware
from simulator.cost.curves import CostModel
from simulator.cost.roofline import Conditions, forward_seconds
from simulator.cost.roofline_cost import Deployment
from simulator.schemes.tree_choice import (
    TreeCost,
    choose_tree,
    draft_passes,
    priced,
    roofline_tree_cost,
)
from simulator.schemes.trees import best_trees, chain, nodes_of, tree_calls, tree_tokens

RATES = [0.6, 0.15, 0.07, 0.04, 0.02]
FREE = TreeCost(CostModel({1: 1.0}, draft_seconds=0.0), {1: 0.0})


def trees(nodes: int) -> Iterator[tuple[int, ...]]:
    """Yields every tree of that size."""
    return itertools.product(*[range(-1, place) for place in range(nodes)])


def longhand(parents: tuple[int, ...], rates: list[float]) -> float:
    """F(T): for each node the product of the rates along its path."""
    total = 1.0
    for place in range(len(parents)):
        product, at = 1.0, place
        while at >= 0:
            elder = sum(parents[other] == parents[at] for other in range(at))
            product *= rates[elder] if elder < len(rates) else 0.0
            at = parents[at]
        total += product
    return total


def test_a_tree_yields_the_sum_of_its_paths() -> None:
    for parents in trees(4):
        assert tree_tokens(parents, RATES) == pytest.approx(longhand(parents, RATES))


def test_choices_beyond_the_last_rate_never_stand() -> None:
    assert tree_tokens((-1, -1, -1, 2), [0.75, 0.25]) == 2.0


def test_a_chain_yields_what_eq_1_says() -> None:
    for gamma in range(6):
        assert tree_tokens(chain(gamma), [0.7]) == pytest.approx(expected_tokens(0.7, gamma))


@pytest.mark.parametrize("seed", range(4))
def test_the_best_tree_of_each_size_and_depth_is_that_of_brute_force(seed: int) -> None:
    rates = np.random.default_rng(seed).dirichlet(np.ones(4))[:3].tolist()   # not always falling
    if seed == 3:
        rates[1] = 0.0
    found = best_trees(rates, max_nodes=5, max_depth=3)
    for nodes, depth in itertools.product(range(1, 6), range(1, 4)):
        possible = [
            longhand(parents, rates)
            for parents in trees(nodes)
            if max(node.depth for node in nodes_of(parents)) <= depth
            and max(node.rank for node in nodes_of(parents)) < len(rates)
        ]
        if not possible:
            assert found.tokens[depth, nodes] == -np.inf
            continue
        assert found.tokens[depth, nodes] == pytest.approx(max(possible))
        parents = found.parents(nodes, depth)
        assert len(parents) == nodes
        assert tree_tokens(parents, rates) == pytest.approx(max(possible))


def test_the_best_tree_of_falling_rates_is_the_greedy_one() -> None:
    """Its nodes are then the likeliest of all; no tree has others that are likelier."""
    found = best_trees(RATES, max_nodes=30, max_depth=30)
    products = sorted(
        (
            np.prod([RATES[rank] for rank in path])
            for depth in range(1, 10)
            for path in itertools.combinations_with_replacement(range(5), depth)
            for _ in range(_orders(path))
        ),
        reverse=True,
    )
    for nodes in (1, 7, 30):
        assert found.tokens[30, nodes] == pytest.approx(1 + sum(products[:nodes]))


def _orders(path: tuple[int, ...]) -> int:
    return len(set(itertools.permutations(path))) if len(path) < 7 else 1


def naive_calls(ranks: list[int], parents: tuple[int, ...], limit: int) -> list[int]:
    """Follows the text through the tree, child by child."""
    calls, start = [], 0
    while start < len(ranks):
        node, length = -1, 0
        while True:
            children = [place for place, parent in enumerate(parents) if parent == node]
            at = start + length
            if at >= len(ranks) or length >= limit - start - 1 or ranks[at] >= len(children):
                break
            node, length = children[ranks[at]], length + 1
        calls.append(min(length + 1, len(ranks) - start))
        start += calls[-1]
    return calls


def test_replay_follows_the_text_through_the_tree() -> None:
    source = np.random.default_rng(0)
    for _ in range(100):
        parents = tuple(int(source.integers(-1, place)) if place else -1 for place in range(6))
        ranks = np.minimum(source.geometric(0.6, size=20) - 1, 5)
        limit = 20 + int(source.integers(0, 3))
        found = tree_calls(ranks, parents, limit=limit)
        assert found.tolist() == naive_calls(ranks.tolist(), parents, limit)
        assert found.sum() == 20


def test_replay_of_independent_ranks_agrees_with_the_expectation() -> None:
    """A mean of 60,000 tokens' calls; odds of a false alarm 6e-7."""
    parents = best_trees(RATES, max_nodes=12, max_depth=4).parents(12, 4)
    odds = [*RATES, 1 - sum(RATES)]
    ranks = np.random.default_rng(1).choice(len(odds), size=60_000, p=odds)
    calls = tree_calls(ranks, parents)
    error = calls.std() / np.sqrt(len(calls))
    assert abs(calls.mean() - tree_tokens(parents, RATES)) < 5 * error


def test_a_level_of_the_tree_is_a_pass_of_the_draft_over_what_goes_on() -> None:
    assert draft_passes(()) == []
    assert draft_passes((-1, -1)) == [1]
    assert draft_passes(chain(3)) == [1, 1, 2]
    assert draft_passes((-1, -1, 0, 0, 1, 2)) == [1, 2, 3]


def test_a_draft_pass_goes_on_as_its_last_segment_does_but_never_falls() -> None:
    target = CostModel({1: 10.0}, draft_seconds=0.0)
    rising = TreeCost(target, {8: 5.0, 1: 1.0, 4: 2.0})
    passes = [rising.draft_pass_seconds(n) for n in (1, 2, 4, 6, 8, 10)]
    assert passes == pytest.approx([1.0, 4 / 3, 2.0, 3.5, 5.0, 6.5])
    falling = TreeCost(target, {1: 1.0, 4: 3.0, 8: 2.0})
    assert [falling.draft_pass_seconds(n) for n in (8, 9)] == [2.0, 2.0]


def test_a_block_of_a_tree_costs_its_passes() -> None:
    target = CostModel({1: 10.0, 5: 14.0}, draft_seconds=99.0, overhead_seconds=0.5)
    cost = TreeCost(target, {1: 1.0, 3: 2.0})
    assert cost.block_seconds((-1, -1, 0, 1)) == pytest.approx(1.0 + 1.5 + 14.0 + 0.5)
    assert cost.draft_pass_seconds(7) == pytest.approx(4.0)
    assert TreeCost(target, {1: 0.0}).draft_pass_seconds(9) == 0
    plan = priced((-1, -1, 0, 1), RATES, cost)
    assert plan.speedup == pytest.approx(plan.tokens * 10 / 17)
    assert (plan.depth, plan.widest) == (2, 2)


def test_the_choice_is_the_fastest_of_all_trees() -> None:
    cost = TreeCost(CostModel({1: 1.0, 6: 1.1}, draft_seconds=0.0), {1: 0.3, 6: 0.4})
    choice = choose_tree(RATES, cost, max_nodes=5, max_depth=4)
    everything = [
        priced(parents, RATES, cost).speedup for nodes in range(1, 6) for parents in trees(nodes)
        if max(node.depth for node in nodes_of(parents)) <= 4
    ]  # fmt: skip
    # Of each size and depth the tree of most tokens stands for all: here that loses nothing.
    assert choice.best.speedup == pytest.approx(max(everything))
    chains = [priced(chain(gamma), RATES, cost).speedup for gamma in range(1, 5)]
    assert choice.chain.speedup == pytest.approx(max(chains))
    assert choice.best.speedup > choice.chain.speedup


def test_every_size_has_its_fastest_tree_and_chains_reach_both_bounds() -> None:
    free = TreeCost(CostModel({1: 1.0}, draft_seconds=0.0), {1: 1e-3})
    for max_nodes, max_depth, longest in ((4, 9, 4), (9, 3, 3), (1, 1, 1)):
        choice = choose_tree([0.9, 0.05], free, max_nodes=max_nodes, max_depth=max_depth)
        assert choice.chain.parents == chain(longest)
        assert list(choice.by_nodes) == list(range(1, max_nodes + 1))
        for nodes, plan in choice.by_nodes.items():
            assert len(plan.parents) == nodes
            assert plan.depth <= max_depth
    # One choice alone has no tree of more nodes than levels.
    assert list(choose_tree([0.9], free, max_nodes=5, max_depth=3).by_nodes) == [1, 2, 3]
    assert max(choose_tree(RATES, free).by_nodes) == 64
    assert choose_tree([0.99], free).best.parents == chain(16)


def test_of_trees_that_are_equally_fast_the_smallest_stands() -> None:
    # A second choice that never stands, in passes that cost nothing: no speed-up, and no loss.
    choice = choose_tree([0.0, 0.0], FREE, max_nodes=4, max_depth=3)
    assert choice.best.parents == choice.chain.parents == ()
    assert (choice.best.tokens, choice.best.speedup) == (1.0, 1.0)
    assert choice.by_nodes[4].depth == 2   # the shallowest that has room for four


def test_a_roofline_prices_each_pass_of_both_models() -> None:
    deployment = Deployment(
        LLAMA_8B,
        model_draft(LLAMA_1B),
        find_hardware("h100"),
        Conditions(tp=4, layer_overhead_seconds=1e-4),
        draft_tp=1,
    )
    asked = {"context": 2048, "batch": 8}
    cost = roofline_tree_cost(deployment, max_nodes=6, **asked)
    assert list(cost.draft_seconds) == list(cost.target.target_seconds) == list(range(1, 8))
    for n in (1, 4, 7):
        assert cost.target.target_seconds[n] == pytest.approx(
            float(
                forward_seconds(
                    LLAMA_8B,
                    deployment.hardware,
                    new_tokens=n,
                    conditions=deployment.conditions,
                    **asked,
                )
            )
        )
        assert cost.draft_seconds[n] == pytest.approx(
            float(
                forward_seconds(
                    LLAMA_1B,
                    deployment.hardware,
                    new_tokens=n,
                    conditions=Conditions(tp=1, layer_overhead_seconds=1e-4),
                    **asked,
                )
            )
        )
    assert cost.target.draft_seconds == 0
    alone = roofline_tree_cost(deployment, context=2048)
    assert max(alone.draft_seconds) == 65
    assert alone.target.target_seconds[1] == pytest.approx(
        float(
            forward_seconds(
                LLAMA_8B,
                deployment.hardware,
                new_tokens=1,
                context=2048,
                batch=1,
                conditions=deployment.conditions,
            )
        )
    )


def test_what_drafts_in_parallel_has_no_tree_by_a_roofline() -> None:
    heads = replace(model_draft(LLAMA_1B), kind="Medusa", parallel=True)
    deployment = Deployment(LLAMA_8B, heads, find_hardware("h100"))
    with pytest.raises(ValueError, match="a draft that drafts token by token, got Medusa"):
        roofline_tree_cost(deployment, context=1)
    one = Deployment(LLAMA_8B, model_draft(LLAMA_1B), find_hardware("h100"))
    with pytest.raises(ValueError, match="max_nodes must be at least 1, got 0"):
        roofline_tree_cost(one, context=1, max_nodes=0)
    assert list(roofline_tree_cost(one, context=1, max_nodes=1).draft_seconds) == [1, 2]


def test_where_nothing_pays_the_choice_is_not_to_speculate() -> None:
    cost = TreeCost(CostModel({1: 1.0, 2: 2.0}, draft_seconds=0.0), {1: 0.5})
    choice = choose_tree([0.2], cost, max_nodes=4, max_depth=4)
    assert choice.best.parents == choice.chain.parents == ()
    assert choice.best.speedup == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tree_tokens((1,), [0.5]), "parents must be earlier nodes or -1, got 1 for node 0"),
        (lambda: tree_tokens((-2,), [0.5]), "parents must be at least -1, got -2"),
        (lambda: tree_tokens((-1,), [0.9, 0.2]), "acceptance must be rates by rank whose sum is "
         "at most 1, got 2 of sum 1.1"),
        (lambda: tree_tokens((-1,), [[0.5], [0.1]]), "acceptance must be rates by rank"),
        (lambda: tree_tokens((-1,), []), "acceptance must be rates by rank"),
        (lambda: tree_tokens((-1,), [1.5]), r"acceptance must lie in \[0, 1\], got 1.5"),
        (lambda: best_trees([0.5], max_nodes=0, max_depth=1), "max_nodes must be at least 1"),
        (lambda: best_trees([0.5], max_nodes=1, max_depth=0), "max_depth must be at least 1"),
        (lambda: best_trees([0.5], max_nodes=3, max_depth=2).parents(3, 2), "a tree of 3 nodes "
         "and depth 2 must be one of those computed"),
        (lambda: best_trees([0.5, 0.1], max_nodes=3, max_depth=2).parents(4, 2), "a tree of 4 "
         "nodes and depth 2 must be one of those computed, up to 3 nodes and depth 2"),
        (lambda: best_trees([0.5, 0.1], max_nodes=3, max_depth=2).parents(2, 3), "depth 3 must be"),
        (lambda: best_trees([0.5, 0.1], max_nodes=3, max_depth=2).parents(-1, 2), "^nodes must"),
        (lambda: best_trees([0.5, 0.1], max_nodes=3, max_depth=2).parents(1, -1), "^depth must"),
        (lambda: chain(-1), "^gamma must be at least 0, got -1"),
        (lambda: choose_tree([0.5], FREE, max_depth=0), "^max_depth must be at least 1, got 0"),
        (lambda: tree_calls([], (-1,), limit=0), "^limit must be at least 1, got 0"),
        (lambda: TreeCost(FREE.target, {1: 1.0, 0: 1.0}), "^n in draft_seconds must be at least 1"),
        (lambda: TreeCost(FREE.target, {1: 1.0, 2: -1.0}), r"^draft_seconds\[2\] must be finite"),
        (lambda: tree_tokens((0,), [0.5]), "parents must be earlier nodes or -1, got 0 for node 0"),
        (lambda: tree_calls([0, -1], (-1,)), "ranks must be at least 0, got -1"),
        (lambda: tree_calls([0, 1], (-1,), limit=1), "limit must be at least the text's 2"),
        (lambda: TreeCost(CostModel({1: 1.0}, 0.0), {2: 1.0}), "draft_seconds must have the point"),
        (lambda: TreeCost(CostModel({1: 1.0}, 0.0), {1: -1.0}), "must be finite and at least 0"),
    ],
)  # fmt: skip
def test_bad_trees_are_refused(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
