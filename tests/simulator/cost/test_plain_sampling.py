"""Odds and intervals of plans agree with plain sampling of the stated prior with its bounds."""

from pathlib import Path

import pytest

import specplan as sp
from simulator.cost.fitted.posterior import Posterior
from tests.simulator.cost.plain_sampling import sampled

CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
# Doubt is largest for draft models.
PAIRS = {
    "draft model": ("qwen3-32b", "qwen3-0.6b", 0.85),
    "small draft model": ("llama-3.1-8b", "llama-3.2-1b", 0.6),
    "head": ("llama-3.1-8b", "llama-3.1-8b-eagle3", 0.7),
}


def noisy(tpot: float, slower: float = 0.72) -> tuple[sp.Run, ...]:
    """Returns runs so noisy that enough draws of the prior stay likely."""
    return (
        sp.Run.of(gamma=0, tpot=tpot, error=10),
        sp.Run.of(gamma=3, tpot=slower * tpot, length=2.6, error=10),
    )


@pytest.mark.parametrize(
    ("pair", "runs"),
    [
        ("draft model", ()),
        ("draft model", noisy(26)),
        ("draft model", noisy(26)[:1]),
        ("draft model", noisy(26)[1:]),
        ("small draft model", ()),
        ("small draft model", noisy(9)),
        ("small draft model", noisy(9)[1:]),
        ("small draft model", noisy(9, 1.1)),
        ("head", ()),
        ("head", noisy(8)),
    ],
)
def test_odds_and_intervals_agree_with_plain_sampling(pair: str, runs: tuple[sp.Run, ...]) -> None:
    target, draft, alpha = PAIRS[pair]
    cost = sp.Roofline(
        CONFIGS / f"{target}.json", CONFIGS / f"{draft}.json", gpu="h100", engine="vllm",
        cost_model="public", runs=runs,
    )  # fmt: skip
    plan = sp.plan(sp.Iid(alpha), cost, max_gamma=8).row
    posterior, point, curve = plan.cost.posterior, plan.cost.point, plan.curve
    assert isinstance(posterior, Posterior)
    assert point is not None
    plainly = sampled(posterior, point, curve.expected_tokens, seed=7)
    assert plainly.worth > 6000
    assert curve.gains.exceeds(1.0) == pytest.approx(plainly.odds, abs=0.02)
    assert curve.high == pytest.approx(plainly.high, rel=0.03)
    assert curve.low == pytest.approx(plainly.low, rel=0.03)
