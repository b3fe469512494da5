"""Drawn drafts take passes over the vocabulary; the likeliest tokens take none."""

from dataclasses import replace

import pytest

from simulator.cost.fitted.machine import RooflineMachine
from simulator.cost.fitted.runs import LoadPoint
from simulator.cost.roofline.shapes import DraftShape
from tests.simulator.served_machines import GPU, SERVED, shape

LOAD = LoadPoint(1000, 64)
SAMPLED = RooflineMachine(replace(SERVED.deployment, sampled=True))


def further_seconds(gamma: int, machine: RooflineMachine = SAMPLED) -> float:
    """Returns the seconds of a block that no parameter scales, in addition to an argmax block."""
    argmax = RooflineMachine(replace(machine.deployment, sampled=False))
    return float((machine.block_work(LOAD, gamma) - argmax.block_work(LOAD, gamma))[-1])


@pytest.mark.parametrize("gamma", [1, 4])
def test_each_drawn_token_moves_68_bytes_for_each_token_of_the_vocabulary(gamma: int) -> None:
    vocabulary = SAMPLED.deployment.target.vocabulary
    moved = 68 * 64 * gamma * vocabulary / GPU.bandwidth
    # Kernels are launched for every pass of the draft, and once to judge all drafts.
    assert further_seconds(gamma) == pytest.approx(moved + (gamma + 1) * 40e-6)


def test_a_parallel_draft_is_drawn_once_and_a_look_up_draws_nothing() -> None:
    draft = SERVED.deployment.draft
    parallel = replace(SAMPLED.deployment, draft=replace(draft, parallel=True))
    looks_up = DraftShape("model", shape(layers=0), True, None, 0)
    lookup = replace(SAMPLED.deployment, draft=looks_up)
    once = further_seconds(4) - 3 * 40e-6
    assert further_seconds(4, RooflineMachine(parallel)) == pytest.approx(once)
    assert further_seconds(4, RooflineMachine(lookup)) == 0


def test_a_step_without_drafts_is_the_same() -> None:
    assert (SAMPLED.plain_work(LOAD) == SERVED.plain_work(LOAD)).all()
