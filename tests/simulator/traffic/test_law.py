"""The distribution of the number of requests, against its weights, rate by rate."""

from dataclasses import fields, replace

import numpy as np
import pytest

from simulator.traffic.demand import Demand
from simulator.traffic.law import Law
from simulator.traffic.population import Population, population
from simulator.traffic.server import Doubt, Server
from tests.simulator.traffic.servers import pair, server

DEMAND = Demand(100, 201)
DRAWS = 40


def doubt(kept: Server) -> Doubt:
    """Returns draws of step times whose deviation is 0.3, and 0.1 between draft lengths."""
    random = np.random.default_rng(5)
    shared = random.normal(0, 0.3, (DRAWS, 1, 1))
    apart = random.normal(0, 0.1, (DRAWS, 1, kept.seconds.shape[-1]))
    return Doubt(np.exp(shared + apart) * np.ones(kept.seconds.shape))


def drawn(slots: int, draws: slice = slice(None)) -> Population:
    kept = server(slots=slots, prompt=0.002, chunk=512)
    few = Doubt(doubt(kept).seconds[draws])
    return population(few.of(kept), DEMAND, 3)


@pytest.mark.parametrize("variability", [1.0, 0.02])
@pytest.mark.parametrize("slots", [1, 64, 1024])
def test_means_of_many_rates_are_those_of_one_rate_at_a_time(
    slots: int, variability: float
) -> None:
    present = drawn(slots)
    rates = float(np.median(present.max_rate)) * np.array([1e-6, 0.01, 0.3, 0.7, 0.95, 1.2, 4.0])
    law = Law.of(rates, present, variability)
    single = [Law.of(rates[at : at + 1], present, variability) for at in range(len(rates))]
    for field in fields(Law)[1:]:
        one_by_one = [getattr(of_rate, field.name) for of_rate in single]
        assert getattr(law, field.name) == pytest.approx(
            np.concatenate(one_by_one, axis=1), rel=1e-9, abs=1e-12, nan_ok=True
        )


def test_draws_have_the_same_means_in_small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    present = drawn(64)
    rates = float(np.median(present.max_rate)) * np.array([0.01, 0.5, 0.9, 1.2, 4.0])
    law = Law.of(rates, present, 0.5)
    monkeypatch.setattr("simulator.traffic.law._TOGETHER", 7 * 64 * 5)
    grouped = Law.of(rates, present, 0.5)
    for field in fields(Law)[1:]:
        assert getattr(grouped, field.name) == pytest.approx(
            getattr(law, field.name), rel=1e-9, abs=1e-12, nan_ok=True
        )


def test_rates_in_the_same_ratios_are_those_of_each_draw() -> None:
    present = drawn(64)
    rates = present.max_rate[:, None] * np.array([0.1, 0.5, 0.9])
    law = Law.of(rates, present, 1.0)
    for at in (0, 7, DRAWS - 1):
        alone = Law.of(rates[at], drawn(64, slice(at, at + 1)), 1.0)
        assert law.present[at] == pytest.approx(alone.present[0], rel=1e-9)


def test_means_weigh_each_number_by_the_product_of_the_loads() -> None:
    present, rate = drawn(64), 2.0
    law, at = Law.of(np.array([rate]), present, 1.0), int(present.max_rate.argmax())
    share, counts = present.share[at], np.arange(1, 65)
    weights = np.cumprod(rate * share)
    weights[-1] /= 1 - rate * share[-1]
    total = 1 + weights.sum()
    assert law.idle[at, 0] == pytest.approx(1 / total)
    assert law.full[at, 0] == pytest.approx(weights[-1] / total)
    assert law.present[at, 0] == pytest.approx(counts @ weights / total)
    assert law.base[at, 0] == pytest.approx(present.base[at] @ weights / weights.sum())


def test_a_rate_above_the_capacity_has_no_means() -> None:
    present = drawn(64)
    law = Law.of(np.array([0.5, 1.0]) * float(present.max_rate.max()), present, 1.0)
    assert np.isnan(law.present[:, 1]).all()
    assert np.isfinite(law.present[present.max_rate > present.max_rate.max() / 2, 0]).all()


def test_draws_change_no_choice_where_probabilities_are_calibrated_and_nothing_was_run() -> None:
    kept = server(slots=64, prompt=0.002, chunk=512)
    exact = pair(kept, DEMAND)
    uncertain = exact.drawn(doubt(kept))
    rates = np.linspace(0.05, 1.1, 25) * float(exact.max_rate)
    advised, chosen = exact.advice(rates, uncertain), exact.choices(rates, uncertain)
    assert {one.gain_probability for one in chosen} == {None}
    assert None not in {one.gain_probability for one in advised if one.named}
    for full, quick in zip(advised, chosen, strict=True):
        assert (quick.gamma, quick.best) == (full.gamma, full.best)
        assert quick.named == full.named or full.best == 0


def test_a_run_or_odds_that_are_not_calibrated_are_decided_by_draws() -> None:
    kept = server(slots=64)
    exact = pair(kept, DEMAND)
    uncertain = exact.drawn(doubt(kept))
    assert exact.deciding(uncertain) is None
    assert replace(exact, calibrated=False).deciding(uncertain) is uncertain
    assert replace(exact, measured={1: {2}}).deciding(uncertain) is uncertain
