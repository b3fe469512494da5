"""The sliders of rates by position: the numbers of plans with these rates."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.specplan.reports.test_page_in_browser import MOVE
from tests.specplan.reports.test_sliders_in_browser import opened, printed

CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
MODELS = (
    f"plan --target-config {CONFIGS / 'llama-3.1-8b.json'} --cost-model public "
    f"--draft-config {CONFIGS / 'llama-3.1-8b-eagle3.json'} --gpu h100"
)
TIMES = "plan --target-ms 20 --draft-ms 1"


@pytest.mark.parametrize("costs", [MODELS, TIMES])
def test_rates_move_to_the_numbers_of_a_plan(browser: Any, tmp_path: Path, costs: str) -> None:
    """The second and third rate, if those before are accepted, are 0.6 and 0.7."""
    conditional = np.array([0.8, 0.6, 0.7])
    rates_of_all = ",".join(f"{rate:.6g}" for rate in np.cumprod(conditional))
    page = opened(browser, f"{costs} --acceptance-by-position {rates_of_all}", tmp_path)
    for first, later in ((0.8, 1.0), (0.653, 1.0), (0.8, 0.777), (0.915, 1.313), (0.27, 0.45)):
        moved = {"first": first, "later": later}
        advised, factor, factors = page.evaluate(MOVE, ["part-1", moved])
        rates = np.cumprod([first, *(later * conditional[1:])])
        plan = printed(f"{costs} --acceptance-by-position {','.join(map(str, rates))}")
        known = [at for at, gain in enumerate(plan["speed_ups"]) if gain]
        exact = np.array([point["improvement_factor"] for point in plan["curve"]])[known]
        np.testing.assert_allclose(np.array(factors)[known], exact, rtol=5e-3)
        if (first, later) == (0.8, 1.0):
            assert advised == plan["advised_gamma"]
        at = 1.0 if advised == 0 else exact[advised - 1]
        assert factor == pytest.approx(at, rel=5e-3)
        assert at >= 0.985 * max(1.0, *exact)
    page.close()
