"""The prior of public measurements: what is in the package, and whom it is for."""

import numpy as np
import pytest

from simulator.cost.draft_shape import DraftKind
from simulator.cost.parameters import COUNT, PARAMETERS
from simulator.cost.published_prior import (
    DRAFT_OF_KIND,
    DRAFTS,
    FEW_SOURCES,
    UNKNOWN,
    UNKNOWN_ERROR,
    Traits,
    published_prior,
    vague_prior,
)

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
    "errors": {"all": [0.1, 0.2], "vllm, EAGLE": [0.05, 0.06]},
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
    assert prior.covariance == pytest.approx(4 * FEW_SOURCES * np.eye(COUNT))
    assert (prior.level_error, prior.ratio_error) == (0.05, 0.06)


def test_what_no_row_has_is_in_more_doubt() -> None:
    prior = published_prior(Traits("sglang", "EAGLE"), effects=EFFECTS)
    # Neither the engine nor the two together are known.
    assert prior.covariance == pytest.approx(4 * (FEW_SOURCES + 2 * UNKNOWN) * np.eye(COUNT))
    assert prior.ratio_error == pytest.approx(UNKNOWN_ERROR * 0.2)


def test_every_kind_of_head_has_a_class() -> None:
    kinds = DraftKind.__args__  # type: ignore[attr-defined]
    assert {DRAFT_OF_KIND[kind] for kind in kinds} <= set(DRAFTS)


@pytest.mark.parametrize(
    ("traits", "message"),
    [(Traits("vllm", "eagle"), "draft must be one of EAGLE, .*, got eagle")],
)
def test_unknown_names_are_refused(traits: Traits, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        published_prior(traits)


def test_a_vague_prior_has_the_scale_of_the_quickest_step() -> None:
    one, ten = vague_prior([0.01]), vague_prior([0.1, 0.2])
    scaled = [PARAMETERS.index(name) for name in ("roof", "block", "draft")]
    assert (ten.logs - one.logs)[scaled] == pytest.approx(np.log(10) * np.ones(3))
