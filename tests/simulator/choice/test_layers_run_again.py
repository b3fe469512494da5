"""Layers of multi-token prediction that are run again: γ beyond their number is a multiple."""

import numpy as np
import pytest
from planned import planned

from simulator.acceptance.acceptance import Iid
from simulator.choice.curve import draftable, speed_up
from simulator.choice.grid import PlanRequest, plans
from simulator.cost.cost import Ratio
from simulator.cost.pricing import Pricing


def test_gamma_is_at_most_the_layers_or_a_multiple_of_them() -> None:
    gammas = np.arange(1, 10)
    assert gammas[draftable(gammas, 3)].tolist() == [1, 2, 3, 6, 9]
    assert draftable(gammas, 1).all()


@pytest.mark.parametrize("multiple", [1, 2, 3, 5])
def test_the_best_gamma_is_the_best_of_those_that_can_be(multiple: int) -> None:
    acceptance, cost = Iid(0.8), Ratio(0.1)
    possible = [g for g in range(1, 17) if g <= multiple or g % multiple == 0]
    best = max(possible, key=lambda g: float(speed_up(acceptance, cost, g)))
    found = planned(acceptance, cost, max_gamma=16, multiple=multiple)
    assert found.optimal_gamma == best
    assert found.gamma_near in possible
    assert not found.cap_binds


def test_the_cap_binds_where_the_next_multiple_is_better() -> None:
    assert planned(Iid(0.95), Ratio(0.01), max_gamma=8, multiple=3).optimal_gamma == 6
    assert planned(Iid(0.95), Ratio(0.01), max_gamma=8, multiple=3).cap_binds


def test_another_gamma_is_refused() -> None:
    with pytest.raises(ValueError, match=r"at most 3 or a multiple of it, the layers .*, got 4"):
        planned(Iid(0.8), Ratio(0.1), gamma=4, multiple=3)


@pytest.mark.parametrize(("asked", "gamma"), [(None, 5), (2, 2)])
def test_a_plan_is_of_the_gamma_that_its_draft_states(asked: int | None, gamma: int) -> None:
    price = Pricing(Ratio(0.3), stated_gamma=5)
    (row,) = plans(PlanRequest((Iid(0.5),), (price,), gamma=asked))
    assert row.gamma == gamma
    assert row.optimal_gamma == 1
