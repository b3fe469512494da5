"""At which γ kinds of prompts are compared."""

from dataclasses import replace

import pytest
from made_profiles import made_profile


@pytest.mark.parametrize(("best", "gamma"), [(None, 1), (0, 1), (1, 1), (4, 4)])
def test_workloads_are_compared_at_the_best_gamma_that_drafts(best: int | None, gamma: int) -> None:
    profile = made_profile("a", alpha=0.7, c=0.1)
    assert replace(profile, optimal_gamma=best).compared_gamma == gamma
