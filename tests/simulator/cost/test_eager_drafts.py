"""A draft whose kernels are launched one by one takes a time for each layer, on any GPU."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from simulator.cost.fitted.machine import (
    PARAMETERS,
    RooflineMachine,
    Work,
    seconds_of,
)
from simulator.cost.fitted.prior import OUTSIDE, Base, Traits, published_prior
from simulator.cost.fitted.runs import LoadPoint
from simulator.cost.roofline.deployment import LAUNCH_SECONDS, Launch
from tests.simulator.served_machines import SERVED

LOAD = LoadPoint(1000, 1)
ROOF, LAYER, DRAFT = (PARAMETERS.index(name) for name in ("roof", "layer", "draft"))
EAGER = RooflineMachine(replace(SERVED.deployment, launch="eager"))
LAYERS = SERVED.deployment.draft.step.layers


def drafting(launch: Launch, *, faster: float) -> Work:
    """Returns the work of three drafted tokens; faster: factor on the GPU's bandwidth."""
    hardware = replace(
        SERVED.deployment.hardware, bandwidth=faster * SERVED.deployment.hardware.bandwidth
    )
    deployment = replace(SERVED.deployment, launch=launch, hardware=hardware)
    return RooflineMachine(deployment).drafting_work(LOAD, 3)


@pytest.mark.parametrize("faster", [1.0, 4.0])
def test_a_pass_takes_as_long_as_its_launches(faster: float) -> None:
    work = drafting("eager", faster=faster)
    assert work[DRAFT] == 3 * LAYERS
    assert work[ROOF] == work[LAYER] == 0
    logs = published_prior(Traits("vllm", "model", launch="eager")).logs
    assert seconds_of(work, logs) == pytest.approx(3 * LAYERS * LAUNCH_SECONDS)


def test_launches_hide_behind_a_pass_that_takes_longer() -> None:
    replayed, eager = (drafting(launch, faster=1e-4) for launch in get_args(Launch))
    assert eager[DRAFT] == 0
    assert eager[ROOF] == replayed[ROOF] > 3 * LAYERS * LAUNCH_SECONDS


@pytest.mark.parametrize("over", get_args(Base))
@pytest.mark.parametrize("draft", ["model", "EAGLE"])
def test_the_prior_has_the_launches_of_a_layer(draft: str, over: Base) -> None:
    prior = published_prior(Traits("vllm", draft, launch="eager"), over=over)
    assert np.exp(prior.logs[DRAFT]) == pytest.approx(LAUNCH_SECONDS)
    assert prior.covariance[DRAFT, DRAFT] == pytest.approx(OUTSIDE["eager"] ** 2)
    assert np.count_nonzero(prior.covariance[DRAFT]) == 1


def test_steps_without_drafts_and_verification_are_the_same() -> None:
    assert (EAGER.plain_work(LOAD) == SERVED.plain_work(LOAD)).all()
    assert (EAGER.block_pass(LOAD, 4) == SERVED.block_pass(LOAD, 4)).all()
