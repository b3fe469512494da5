"""The tokens of blocks of requests that differ, against the beta law itself."""

import numpy as np
import pytest
from scipy.special import betaincinv

from simulator.acceptance.acceptance import Iid
from simulator.traffic.blocks import KINDS, Blocks


@pytest.mark.parametrize(
    ("alpha", "spread"), [(0.7, 0.1), (0.7, 1e-4), (0.5, 0.45), (0.95, 0.19), (0.03, 0.1)]
)
def test_kinds_of_request_are_the_medians_of_equal_parts_of_a_beta_law(
    alpha: float, spread: float
) -> None:
    total = alpha * (1 - alpha) / spread**2 - 1
    shares = (np.arange(KINDS) + 0.5) / KINDS
    wanted = betaincinv(alpha * total, (1 - alpha) * total, shares)
    found = Blocks.of(Iid(alpha), 2, spread=spread).accepted[:, 1]
    assert found == pytest.approx(wanted, rel=1e-4, abs=1e-9)
