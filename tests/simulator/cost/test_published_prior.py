"""The prior of public measurements: its contents, and the deployments it covers."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.cost.fitted.machine import COUNT, PARAMETERS
from simulator.cost.fitted.prior import (
    ANY_ENGINE,
    DRAFTS,
    UNKNOWN,
    UNMET,
    Traits,
    published_prior,
    vague_prior,
)
from simulator.cost.roofline.deployment import over_pcie
from simulator.cost.roofline.hardware import find_hardware
from simulator.cost.roofline.sharing import Conditions
from tests.simulator.served_machines import SERVED

EFFECTS = {
    "mean": [0.0] * COUNT,
    "effects": {
        "draft EAGLE": [1.0] * COUNT,
        "engine vllm": [0.5] * COUNT,
        "vllm, EAGLE": [0.25] * COUNT,
        "mixture": [2.0] * COUNT,
    },
    "covariance": np.eye(COUNT).tolist(),
    "doubts": {"EAGLE": 2.0},
    "meetings": ["vllm, mixture"],
    "errors": {
        "all": [0.1, 0.2, 0.3],
        "vllm, EAGLE": [0.05, 0.06, 0.07],
        "a mixture": [0.15, 0.2, 0.3],
    },
}


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llama.cpp", "transformers", None])
@pytest.mark.parametrize("draft", DRAFTS)
def test_every_engine_and_draft_has_a_prior(engine: str | None, draft: str) -> None:
    prior = published_prior(Traits(engine, draft, "int4", mixture=True))
    assert prior.logs.shape == (COUNT,)
    assert np.linalg.eigvalsh(prior.covariance).min() > 0
    assert 0.01 < prior.ratio_error < 0.5
    assert 0.01 < prior.level_error < 0.5
    # Time at the roofs is at least that, and at most three times it.
    assert 0.7 < np.exp(prior.logs[PARAMETERS.index("roof")]) < 3


def test_effects_of_all_traits_add_up() -> None:
    prior = published_prior(Traits("vllm", "EAGLE", mixture=True), effects=EFFECTS)
    assert prior.logs == pytest.approx(np.full(COUNT, 3.75))
    assert prior.covariance == pytest.approx(np.eye(COUNT))
    assert prior.level_error == 0.05
    assert (prior.ratio_error, prior.load_error) == (0.06, 0.07)


def test_targets_and_gpus_that_an_engine_was_never_measured_with_are_in_more_doubt() -> None:
    known, new = (
        published_prior(Traits("vllm", "EAGLE", mixture=True, several=several), effects=EFFECTS)
        for several in (False, True)
    )
    assert new.load_error == pytest.approx(UNMET * known.load_error)
    assert (new.level_error, new.ratio_error) == (known.level_error, known.ratio_error)


def test_a_step_without_drafts_has_the_errors_of_its_kind_of_target() -> None:
    dense, mixture = (
        published_prior(Traits("vllm", None, mixture=routed), effects=EFFECTS).level_error
        for routed in (False, True)
    )
    assert (dense, mixture) == (0.1, 0.15)  # no target is dense here: the error of all


def test_traits_without_rows_have_a_wider_law_and_the_errors_of_all() -> None:
    prior = published_prior(Traits("sglang", "EAGLE"), effects=EFFECTS)
    # Neither the engine nor the two together are known.
    assert prior.covariance == pytest.approx((1 + 2 * UNKNOWN) * np.eye(COUNT))
    assert (prior.level_error, prior.ratio_error, prior.load_error) == (0.1, 0.2, 0.3)


def test_without_a_named_engine_the_prior_covers_each() -> None:
    several = published_prior(Traits(None, "EAGLE"))
    each = [published_prior(Traits(engine, "EAGLE")) for engine in ANY_ENGINE]
    assert several.logs == pytest.approx(np.mean([one.logs for one in each], axis=0))
    for one in each:
        off = np.diag(several.covariance) - np.diag(one.covariance)
        assert (off > -0.3 * np.diag(one.covariance)).all()
    between = np.var([one.logs for one in each], axis=0)
    within = np.mean([np.diag(one.covariance) for one in each], axis=0)
    assert np.diag(several.covariance) == pytest.approx(between + within)


@pytest.mark.parametrize(
    ("gpu", "tp", "pcie"),
    [("h100", 1, False), ("h100", 2, False), ("rtx-pro-6000", 2, True), ("rtx-pro-6000", 1, False)],
)
def test_several_gpus_without_a_quick_link_have_their_own_effect(
    gpu: str, tp: int, pcie: bool
) -> None:
    deployment = replace(
        SERVED.deployment, hardware=find_hardware(gpu), conditions=Conditions(tp=tp)
    )
    assert over_pcie(deployment) is pcie


def test_a_vague_prior_has_the_scale_of_the_quickest_step() -> None:
    one, ten = vague_prior([0.01]), vague_prior([0.1, 0.2])
    scaled = [PARAMETERS.index(name) for name in ("roof", "block", "draft")]
    assert (ten.logs - one.logs)[scaled] == pytest.approx(np.log(10) * np.ones(3))
