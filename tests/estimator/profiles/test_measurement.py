"""A whole measurement of a tiny pair."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from torch import nn

from estimator.costs.operations import c_hat, operations_per_token
from estimator.profiles.measure import measure
from estimator.profiles.measurement import make_profile, measured_gammas
from estimator.profiles.profile import AlphaBin
from estimator.profiles.profile_file import read_profile, write_profile
from estimator.profiles.workloads import measured_alpha
from estimator.requests import Measure
from estimator.timing.arms import probing, run_arms
from estimator.timing.precision import Timing
from estimator.timing.rates import Runs
from estimator.traces.measured_traces import Tracing, measure_traces
from estimator.traces.text_traces import replay_factor
from estimator.traces.traces import (
    DRAFT_SAMPLINGS,
    DraftSampling,
    alpha,
    block_efficiency,
    replayed_blocks,
)
from reference.models.architectures import CausalModel
from reference.records import Generation
from simulator.acceptance.replayed import Replayed
from simulator.choice.curve import speed_up
from simulator.choice.plan import DEFAULT_MAX_GAMMA
from simulator.cost.curves import CostModel
from specplan.reports.profile import clock_lines
from tests.estimator.pairs import PROMPTS, tiny_subject

MAX_GAMMA = 3


def traced() -> Tracing:
    return Tracing(tiny_subject(), PROMPTS, max_gamma=DEFAULT_MAX_GAMMA, seed=0, ahead=MAX_GAMMA)


def timed_runs(tracing: Tracing, timing: Timing) -> Runs:
    arms = probing(measured_gammas(MAX_GAMMA))
    return run_arms(tracing.subject, PROMPTS, arms, timing, least=len(PROMPTS))


def test_a_profile_holds_the_measurements(tmp_path: Path) -> None:
    tracing = traced()
    pairs = measure_traces(tracing)
    traces = [both.sampled for both in pairs]
    runs = timed_runs(tracing, Timing())
    profile = make_profile(tracing, pairs, runs, draft="d")
    assert profile.alpha == measured_alpha(traces)
    assert profile.details is not None
    assert profile.details.alpha_by_position_in_text == (
        AlphaBin(first=0, alpha=pytest.approx(alpha(traces)), tokens=12 * len(PROMPTS)),
    )
    drafting = profile.drafting()
    lenient = list(drafting.alpha_by_lenience.values())
    assert lenient == sorted(lenient)
    assert drafting.alpha_by_lenience[1.0] == pytest.approx(alpha(traces))
    assert list(profile.improvement_factor) == [1, 2, 3]
    # Up to a plan's default, though drafts were timed only up to MAX_GAMMA.
    for replayed in (drafting.blocks, drafting.blocks_jointly):
        assert list(replayed) == list(range(1, DEFAULT_MAX_GAMMA + 1))
    assert drafting.blocks == replayed_blocks(traces, DEFAULT_MAX_GAMMA)
    for factor in profile.improvement_factor.values():
        assert (factor.low or 0) < factor.replay < (factor.high or 0)
    assert None not in (profile.recommended_gamma, profile.optimal_gamma)
    assert None not in (profile.clock.noise_percent, profile.clock.quiet)
    assert (profile.clock.noise_within_percent or 0) > 0
    assert profile.clock.repeats == 1
    assert (profile.setup.draft, profile.draft_sampling) == ("d", "sampled")
    assert profile.drafting("argmax").alpha.value == alpha([both.argmax for both in pairs])
    assert (profile.setup.texts.max_gamma, profile.setup.texts.seed) == (MAX_GAMMA, 0)
    write_profile(profile, tmp_path / "p.json")
    assert read_profile(tmp_path / "p.json") == profile


def test_the_time_of_a_prompt_is_of_texts_that_begin_with_it() -> None:
    tracing = traced()
    runs = timed_runs(tracing, Timing())
    # All texts but the first are decoded from a later position on.
    read = {
        arm: [[replace(text, text=(*text.text, *[1] * 99 * (row > 0)), prefill_seconds=row + 1.0)
               for text in texts] for row, texts in enumerate(rows)]
        for arm, rows in runs.items()
    }  # fmt: skip
    details = make_profile(tracing, measure_traces(tracing), read, draft="d").details
    assert details is not None
    assert details.prefill_ms == {"target": 1000.0, "target_and_draft": 1000.0}


def test_prices_that_shrink_with_gamma_leave_a_profile_in_doubt() -> None:
    tracing = traced()
    pairs = measure_traces(tracing)
    # There is no time; every prompt is timed once all the same.
    timing = Timing(repeats=3, seconds=0.0)
    runs = timed_runs(tracing, timing)
    assert {len(repeats) for rows in runs.values() for repeats in rows} == {1}
    runs = {arm: [[shrinking(text) for text in texts] for texts in runs[arm]] for arm in runs}
    profile = make_profile(tracing, pairs, runs, draft="d")
    [doubt] = profile.clock.doubts
    assert doubt == "a step takes 1000.00 ms at gamma 2 and 2000.00 at gamma 1"
    assert profile.clock.quiet is False
    assert clock_lines(profile)[0].startswith(f"In doubt: {doubt}. Do not use times in doubt")


def shrinking(text: Generation) -> Generation:
    """Returns a text in which drafts of one token take longer than drafts of two."""
    seconds, free = (0.5, 2.0, 1.0, 3.0), {"draft_seconds": 0.0, "other_seconds": 0.0}
    verify = (seconds[len(block.drafted)] for block in text.blocks)
    pairs = zip(text.blocks, verify, strict=True)
    blocks = tuple(replace(block, **free, verify_seconds=each) for block, each in pairs)
    return replace(text, blocks=blocks)


@pytest.mark.parametrize("way", DRAFT_SAMPLINGS)
def test_planning_from_a_profile_is_replaying_its_traces(way: DraftSampling) -> None:
    pairs = measure_traces(traced())
    traces = [pair.under(way) for pair in pairs]
    acceptance = Replayed(alpha(traces), replayed_blocks(traces, MAX_GAMMA))
    cost = CostModel({1: 1.0, 2: 1.2, 4: 1.5}, 0.1, 0.05, 0.02)
    for gamma in range(1, MAX_GAMMA + 1):
        assert speed_up(acceptance, cost, gamma) == pytest.approx(
            replay_factor(traces, gamma, cost)
        )
        assert acceptance.tokens_per_call(gamma) == pytest.approx(block_efficiency(traces, gamma))


def test_operations_count_each_multiplying_weight_once() -> None:
    pair = tiny_subject()
    assert isinstance(pair.target, CausalModel)
    module = pair.target.module
    # embeddings, tied or not, are looked up; the head multiplies
    linear = sum(each.weight.numel() for each in module.modules() if isinstance(each, nn.Linear))
    norms = sum(p.numel() for name, p in module.named_parameters() if "norm" in name)
    assert operations_per_token(module) == 2 * (linear + norms)
    assert c_hat(module, pair.drafter) == 1


@pytest.mark.parametrize(
    ("most", "gammas"),
    [
        (1, [1]),
        (3, [1, 2, 3]),
        (5, [1, 2, 3, 4, 5]),
        (7, [1, 2, 3, 4, 6, 7]),
        (16, [1, 2, 3, 4, 6, 8, 12, 16]),
    ],
)
def test_two_draft_lengths_an_octave_are_timed_and_the_longest(
    most: int, gammas: list[int]
) -> None:
    assert measured_gammas(most) == gammas


def test_a_rule_that_no_replay_knows_is_refused_before_a_model_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "estimator.profiles.measure.acceptance_rule", lambda _: SimpleNamespace(name="nothing")
    )
    monkeypatch.setattr("estimator.profiles.measure.load", lambda *_, **__: pytest.fail("read"))
    with pytest.raises(ValueError, match="must be one that replay knows, got nothing"):
        measure(Measure())
