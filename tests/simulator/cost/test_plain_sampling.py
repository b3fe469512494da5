"""Odds and intervals of plans are those of plain sampling of the stated prior with its bounds."""

from pathlib import Path

import numpy as np
import pytest
from plain_sampling import sampled

import specplan as sp

CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
# Doubt is largest for draft models.
PAIRS = {
    "draft model": ("qwen3-32b", "qwen3-0.6b", 0.85),
    "small draft model": ("llama-3.1-8b", "llama-3.2-1b", 0.6),
    "head": ("llama-3.1-8b", "llama-3.1-8b-eagle3", 0.7),
}
# Noisy runs, which leave enough draws of their prior likely.
RUNS = (
    sp.Run.of(gamma=0, tpot=9, error=10),
    sp.Run.of(gamma=4, tpot=6, length=2.8, error=10),
)


@pytest.mark.parametrize("runs", [(), RUNS], ids=["prior", "runs"])
@pytest.mark.parametrize("pair", PAIRS)
def test_odds_and_intervals_are_those_of_plain_sampling(pair: str, runs: tuple[sp.Run]) -> None:
    target, draft, alpha = PAIRS[pair]
    cost = sp.Roofline(
        CONFIGS / f"{target}.json", CONFIGS / f"{draft}.json", gpu="h100", engine="vllm",
        cost_model="public", runs=runs,
    )  # fmt: skip
    curve = sp.plan(sp.Iid(alpha), cost, max_gamma=8).row
    posterior, point = curve.cost.posterior, curve.cost.point
    assert posterior is not None
    assert point is not None
    known = sampled(posterior, point, curve.curve.expected_tokens, seed=7)
    assert known.worth > 6000
    assert curve.curve.gains.exceeds(1.0) == pytest.approx(known.odds, abs=0.02)
    assert curve.curve.low == pytest.approx(known.low, rel=0.03)
    assert curve.curve.high == pytest.approx(known.high, rel=0.03)
    assert np.all(curve.curve.high <= curve.curve.expected_tokens * 1.001) or runs
