"""Trees: their tokens and passes, best trees against brute force, and agreement with replay."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from reference.drafters.model_drafter import ModelDrafter
from reference.drafters.trees import TreeDrafter
from reference.laws import Sampling
from reference.policies import Fixed
from simulator.acceptance.tokens import expected_tokens
from simulator.cost.cost import Ratio
from simulator.schemes.trees import (
    TreeAcceptance,
    best_trees,
    chain,
    depths_and_ranks,
    draft_passes,
    tree_tokens,
)
from tests.reference.tabular import TabularModel
from tests.simulator.planned import planned
from tests.simulator.tree_replay import calls_along

RATES = [0.6, 0.15, 0.07, 0.04, 0.02]


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


def test_a_chain_yields_the_tokens_of_eq_1() -> None:
    for gamma in range(6):
        assert tree_tokens(chain(gamma), [0.7]) == pytest.approx(expected_tokens(0.7, gamma))


@pytest.mark.parametrize("seed", range(4))
def test_the_best_tree_of_each_size_and_depth_is_that_of_brute_force(seed: int) -> None:
    rates = np.random.default_rng(seed).dirichlet(np.ones(4))[:3].tolist()  # not always falling
    if seed == 3:
        rates[1] = 0.0
    found = best_trees(rates, max_nodes=5, max_depth=3)
    assert found.tokens[0].tolist() == [1.0, *[-np.inf] * 5]
    for nodes, depth in itertools.product(range(1, 6), range(1, 4)):
        possible = [
            longhand(parents, rates)
            for parents in trees(nodes)
            if max(depths_and_ranks(parents)[0]) <= depth
            and max(depths_and_ranks(parents)[1]) < len(rates)
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


def test_replay_of_independent_ranks_agrees_with_the_expectation() -> None:
    """A mean of 60,000 tokens' calls; odds of a false alarm 6e-7."""
    parents = best_trees(RATES, max_nodes=12, max_depth=4).parents(12, 4)
    odds = [*RATES, 1 - sum(RATES)]
    ranks = np.random.default_rng(1).choice(len(odds), size=60_000, p=odds)
    calls = np.array(calls_along(ranks.tolist(), parents, 60_000))
    error = calls.std() / np.sqrt(len(calls))
    assert abs(calls.mean() - tree_tokens(parents, RATES)) < 5 * error


class Counting(TabularModel):
    """A draft model of a uniform law over eight tokens that keeps how many each pass reads."""

    def __init__(self) -> None:
        super().__init__(lambda _: [1 / 8] * 8, 8)
        self.read: list[int] = []

    def extend(self, tokens: Tensor, parents: Sequence[int] | None = None) -> Tensor:
        self.read.append(len(tokens))
        return super().extend(tokens, parents)


def test_passes_read_the_same_tokens_as_the_tree_drafter() -> None:
    source = np.random.default_rng(5)
    for _ in range(100):
        nodes = int(source.integers(1, 12))
        parents = tuple(int(source.integers(-1, place)) if place else -1 for place in range(nodes))
        if np.unique(parents, return_counts=True)[1].max() > 8:
            continue
        model = Counting()
        drafter = TreeDrafter(ModelDrafter(model, Sampling(), 8), parents)
        drafter.start([0], [0])
        model.read.clear()
        drafter.propose([0], nodes, Fixed(nodes), torch.Generator())
        assert model.read == draft_passes(parents), parents


@pytest.mark.parametrize(
    ("parents", "passes"),
    [
        ((), []),
        ((-1, -1), [1]),
        (chain(6), [1, 1, 2, 3, 4, 5]),
        ((-1, -1, 0, 0, 1, 2), [1, 2, 2]),  # the second of the first level is not read again
    ],
)
def test_a_level_of_the_tree_is_a_pass_over_its_nodes_and_their_paths(
    parents: tuple[int, ...], passes: list[int]
) -> None:
    assert draft_passes(parents) == passes


def test_a_plan_of_trees_has_the_nodes_for_gamma() -> None:
    shapes = {1: (-1,), 2: (-1, -1), 3: (-1, -1, 0), 4: (-1, -1, 0, 0)}
    trees = TreeAcceptance(tuple(RATES), shapes)
    found = planned(trees, Ratio(0.0), max_gamma=4)
    tokens = [longhand(shape, RATES) for shape in shapes.values()]
    assert found.curve.expected_tokens == pytest.approx(tokens)
    assert found.improvement_factor == pytest.approx(tokens[-1])
    assert (found.kind, found.alpha, found.optimal_gamma) == ("tree", 0.6, 4)
    assert found.accepted_fraction == pytest.approx((tokens[-1] - 1) / 4)
    assert found.iid_error is None
    assert trees.tokens_per_call([0, 4, 9]) == pytest.approx([1, tokens[-1], tokens[-1]])
