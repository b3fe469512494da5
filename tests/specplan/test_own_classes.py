"""A user's own acceptance and cost are planned as ours, and refused if they are impossible."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import specplan as sp

LONG = sp.Arrivals(rate=(1e-7,), prompt_tokens=96, output_tokens=8000)
PROMPTS = sp.Batching(prompt_ms=20)


@dataclass(frozen=True)
class Lengths(sp.Acceptance):
    """Blocks give `first` tokens at K = 1, and `further` more for each longer K."""

    first: float = 1.8
    further: float = 0.5

    def per_token(self, price: Any, gamma: Any) -> Any:
        lengths = np.asarray(gamma)
        tokens = np.where(lengths == 0, 1.0, self.first + self.further * (lengths - 1))
        return price(lengths) / tokens


@dataclass(frozen=True)
class Quadratic(sp.Cost):
    """A pass over n tokens takes t + a (n² - 1) seconds; drafts take no time."""

    step: float = 0.01
    attention: float = 1e-4
    c: float = field(default=0.0)

    @property
    def baseline_seconds(self) -> float:
        return self.step

    def drafting_seconds(self, gamma: Any) -> Any:
        return 0.0 * np.asarray(gamma)

    def checking_seconds(self, gamma: Any) -> Any:
        return self.step + self.attention * ((np.asarray(gamma) + 1) ** 2 - 1)


def test_a_plan_of_own_classes_has_the_formula_of_both() -> None:
    plan = sp.plan(Lengths(), Quadratic())
    assert isinstance(plan, sp.PlanResult)
    gamma = np.arange(1, 33)
    expected = (1.8 + 0.5 * (gamma - 1)) / (1 + 0.01 * ((gamma + 1) ** 2 - 1))
    np.testing.assert_allclose(plan.curve.speed_up, expected, rtol=1e-12)
    assert plan.best.gamma == gamma[expected.argmax()]


def test_traffic_at_a_rate_near_0_takes_the_times_of_the_plan() -> None:
    plan = sp.plan(Lengths(), Quadratic())
    assert isinstance(plan, sp.PlanResult)
    without, drafting = sp.traffic(Lengths(), Quadratic(), arrivals=LONG, batching=PROMPTS).rows
    assert float(without.state.token_seconds[0]) == pytest.approx(0.01, rel=1e-3)
    assert drafting.gamma == plan.advice.gamma
    seconds = plan.curve.seconds[drafting.gamma - 1]
    assert float(drafting.state.token_seconds[0]) == pytest.approx(seconds, rel=1e-3)


@pytest.mark.parametrize(
    ("acceptance", "cost", "message"),
    [
        (Lengths(2.1), Quadratic(), "must give 1 to 2 tokens per call at gamma 1, got 2.1"),
        (Lengths(2.0, 1.1), Quadratic(), "acceptance must give 1 to 3 tokens per call at gamma 2"),
        (Lengths(0.0), Quadratic(), "acceptance must give 1 to 2 tokens .* gamma 1, got 0"),
        (Lengths(np.nan), Quadratic(), "tokens per call at gamma 1, got nan"),
        (Lengths(), Quadratic(0.0), "cost must have a finite time above 0 without speculation"),
        (Lengths(), Quadratic(np.inf), "above 0 without speculation, got inf"),
        (Lengths(), Quadratic(0.01, -0.01), "above 0 at gamma 1, got -0.02"),
        (Lengths(), Quadratic(0.01, np.nan), "above 0 at gamma 1, got nan"),
    ],
)  # fmt: skip
def test_impossible_classes_are_refused(acceptance: Any, cost: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sp.plan(acceptance, cost)
    with pytest.raises(ValueError, match=message):
        sp.traffic(acceptance, cost, arrivals=LONG, batching=PROMPTS)
