"""Over kernels a draft model's overhead, and its doubt, are the public prior's."""

import numpy as np
import pytest

from simulator.cost.fitted.machine import PARAMETERS
from simulator.cost.fitted.prior import Traits, published_prior

OUTSIDE = [PARAMETERS.index(name) for name in ("block", "draft")]


@pytest.mark.parametrize("engine", ["vllm", None])
def test_draft_models_over_kernels_have_the_public_doubt_of_their_overhead(
    engine: str | None,
) -> None:
    traits = Traits(engine, "model")
    kernels, public = published_prior(traits, over="kernels"), published_prior(traits)
    assert kernels.logs[OUTSIDE] == pytest.approx(public.logs[OUTSIDE])
    inside = np.ix_(OUTSIDE, OUTSIDE)
    assert kernels.covariance[inside] == pytest.approx(public.covariance[inside])
    assert np.linalg.eigvalsh(kernels.covariance).min() > -1e-9
    # Passes themselves are better known than by the roofline.
    roof = PARAMETERS.index("roof")
    assert kernels.covariance[roof, roof] < 0.2 * public.covariance[roof, roof]


def test_heads_over_kernels_have_their_own_overhead() -> None:
    traits = Traits("vllm", "EAGLE")
    kernels, public = published_prior(traits, over="kernels"), published_prior(traits)
    draft = PARAMETERS.index("draft")
    assert kernels.covariance[draft, draft] < 0.5 * public.covariance[draft, draft]
    assert kernels.logs[draft] != pytest.approx(public.logs[draft])
