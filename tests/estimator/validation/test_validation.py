"""A whole validation of a tiny pair."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
import torch

from estimator.timing.arms import Speculative, probing, run_arms
from estimator.timing.precision import Timing
from estimator.timing.rates import AGAIN, BASELINE
from estimator.validation.file import SpeculativeRow
from estimator.validation.validation import Validation, generations, validate
from ngram.drafters import PromptLookupDrafter
from reference.policies import Confidence, Fixed, Heuristic, Policy, Product
from reference.records import Stopping
from reference.rules import STRICT, Lenient, Rule
from reference.speculative import Subject
from tests.estimator.pairs import PROMPTS, VOCABULARY, tiny_subject

POLICIES = {"one": Fixed(1), "three": Fixed(3)}


def validated(
    subject: Subject,
    policies: Mapping[str, Policy | None] = POLICIES,
    *,
    prompts: Sequence[Sequence[int]] = PROMPTS[1:3],
    max_gamma: int = 3,
    repeats: int = 1,
) -> Validation:
    """Returns a validation whose progress is called as often as announced."""
    calls: list[None] = []
    result = validate(
        subject,
        prompts,
        policies,
        Timing(repeats, progress=lambda: calls.append(None)),
        max_gamma=max_gamma,
    )
    assert len(calls) == generations(prompts, policies, max_gamma=max_gamma, repeats=repeats)
    return result


def test_a_greedy_validation_counts_the_predicted_calls() -> None:
    for row, gamma in zip(validated(tiny_subject(0), repeats=2).rows, (1, 3), strict=True):
        assert row.gamma == gamma
        assert row.identical_to_target is True
        assert row.predicted_target_calls == row.target_calls
        assert row.predicted_ahead == pytest.approx(row.predicted_calibrated, rel=1e-12)
        assert row.tokens == 12 * 2
        assert row.block_efficiency == row.tokens / row.target_calls
        assert row.measured_low <= row.measured <= row.measured_high
        assert row.predicted_ahead_low < row.predicted_ahead < row.predicted_ahead_high
        assert row.error_percent == pytest.approx(
            100 * (row.predicted_calibrated / row.measured - 1)
        )
        assert row.tokens_per_second == pytest.approx(row.measured * row.baseline_tokens_per_second)


def test_a_sampled_validation_says_nothing_of_identity() -> None:
    for row in validated(tiny_subject()).rows:
        assert row.identical_to_target is None
        assert 0 < row.alpha < 1
        assert row.predicted_theorem8 > 0
        assert row.predicted_ahead != row.predicted_calibrated


def test_texts_of_other_lengths_are_compared_with_the_baseline_by_the_token() -> None:
    """The interval around a speed-up is symmetric in its logarithm, and computed from prompts."""
    ends = Stopping(12, frozenset(range(0, VOCABULARY, 4)))
    for row in validated(replace(tiny_subject(), stopping=ends), prompts=PROMPTS).rows:
        middle = math.sqrt(row.measured_low * row.measured_high)
        assert row.measured == pytest.approx(middle, rel=1e-9)


def test_a_draft_step_that_never_was_has_no_price() -> None:
    class Silent(PromptLookupDrafter):
        def _continuation(self, text: Sequence[int], limit: int) -> list[int]:
            return []

    greedy = tiny_subject(0, 6)
    silent = replace(greedy, drafter=Silent(device=greedy.target.device))
    [row] = validated(silent, {"two": Fixed(2)}, prompts=PROMPTS[:2], max_gamma=2).rows
    assert row.c is None
    assert row.accepted_fraction is None
    assert row.target_calls == row.tokens


def test_a_lossy_target_is_seen_not_to_be_identical() -> None:
    """A drafter that verification does not guard: the check must notice."""

    class Accepting:
        name = "accepting"
        lossless = True

        def accepts(self, p, q, tokens, uniform):
            return torch.ones_like(tokens, dtype=torch.bool)

        def replacement(self, p, q):
            return p

    result = validated(replace(tiny_subject(0, noise=0.5), rule=Accepting()))
    assert not any(row.identical_to_target for row in result.rows)
    # Float32 texts part at no tie, and the row says so.
    assert all(row.tie_gap > 1e-3 for row in result.rows)
    # Nor does any replay know how it accepts.
    assert all(row.predicted_theorem8 is row.error_percent is None for row in result.rows)


def test_every_policy_has_its_row_and_those_that_replay_knows_predictions() -> None:
    policies = {
        "gamma 2": Fixed(2),
        "confidence:0.1": Confidence(0.1, 4),
        "product:0.02": Product(0.02, 4),
        "heuristic": Heuristic(2, 4),
        "adaptive": None,
    }
    rows = validated(tiny_subject(0, 12, noise=0.2), policies, max_gamma=4).rows
    assert [(row.policy, row.gamma) for row in rows] == [
        ("fixed", 2),
        ("confidence:0.1", None),
        ("product:0.02", None),
        ("heuristic", None),
        ("adaptive", None),
    ]
    assert all(row.identical_to_target for row in rows)
    for row in rows[:3]:
        assert row.predicted_target_calls == pytest.approx(row.target_calls, rel=1e-12)
        assert row.predicted_ahead == pytest.approx(row.predicted, rel=1e-12)
    for row in rows[3:]:
        assert row.predicted_theorem8 is row.predicted_ahead is row.predicted_calibrated is None
        assert row.predicted_target_calls is row.end_to_end_predicted is row.error_percent is None
        assert row.measured > 0


def test_progress_is_announced_where_every_policy_plans() -> None:
    validated(tiny_subject(0, 3), {"a": None}, max_gamma=2, repeats=2)


def lenient(temperature: float, rule: Rule) -> SpeculativeRow:
    pair = tiny_subject(temperature, 20, noise=0.2, rule=rule)
    [row] = validated(pair, {"a": Fixed(3)}).rows
    return row


def test_greedy_lenience_is_replayed_exactly_and_seen_to_be_lossy() -> None:
    strict, kept = lenient(0, STRICT), lenient(0, Lenient(0.02))
    assert kept.alpha > strict.alpha
    assert (strict.rule, strict.lossless) == ("strict", True)
    assert (kept.rule, kept.lossless) == ("lenient 0.02", False)
    assert kept.identical_to_target is False
    assert kept.predicted_target_calls == kept.target_calls
    assert kept.target_calls < strict.target_calls
    assert kept.predicted_theorem8 > 0
    assert kept.predicted_ahead is None


def test_sampled_lenience_has_no_replay_to_predict_it() -> None:
    row = lenient(1, Lenient(0.2))
    assert row.predicted_theorem8 > 0
    assert row.predicted_ahead is row.predicted_calibrated is row.predicted_target_calls is None


def test_repeats_of_an_arm_have_one_text_and_arms_their_own() -> None:
    subject = tiny_subject()
    runs = run_arms(
        subject,
        PROMPTS[:2],
        probing([1, 3]) | {arm: Speculative(policy) for arm, policy in POLICIES.items()},
        Timing(repeats=2),
    )
    assert set(runs) == {BASELINE, AGAIN, "probe 1", "probe 3", *POLICIES}
    for prompts in runs.values():
        for repeats in prompts:
            assert len({run.tokens for run in repeats}) == 1
    assert len({prompts[0][0].tokens for prompts in runs.values()}) == len(runs)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_validation_of_one_prompt_has_no_intervals(temperature: float) -> None:
    result = validated(tiny_subject(temperature), prompts=PROMPTS[:1], repeats=2)
    for row in result.rows:
        assert row.predicted_ahead is not None
        assert row.predicted_ahead_low is row.predicted_ahead_high is None
        assert row.measured > 0
        assert row.measured_low is row.measured_high is None
