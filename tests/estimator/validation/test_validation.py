"""A whole validation of a tiny pair."""

from collections.abc import Mapping, Sequence

import pytest
from pairs import PROMPTS, tiny_pair

from estimator.runs.arms import AGAIN, BASELINE, Subject, probing, run_arms, under
from estimator.seeding import seeded
from estimator.validation.validation import Validation, generations, validate
from ngram.drafters.lookup import PromptLookupDrafter
from reference.laws.sampling import Sampling
from reference.policies.policy import Confidence, Fixed, Policy
from reference.rules.lenience import Lenient
from reference.rules.rule import Rule
from reference.rules.strict import STRICT
from reference.stopping import Stopping

POLICIES = {"one": Fixed(1), "three": Fixed(3)}


def validation(temperature: float) -> Validation:
    sampling = Sampling(temperature=temperature)
    target, drafter = tiny_pair(sampling)
    calls = []
    result = validate(
        Subject(target, drafter, sampling, Stopping(12)),
        PROMPTS,
        POLICIES,
        max_gamma=3,
        repeats=2,
        seed=0,
        progress=lambda: calls.append(1),
    )
    assert len(calls) == len(PROMPTS) * 2 * 6
    return result


def test_a_greedy_validation_counts_what_it_predicts() -> None:
    for row, gamma in zip(validation(0).rows, (1, 3), strict=True):
        assert row.gamma == gamma
        assert row.identical_to_target is True
        assert row.predicted_target_calls == row.target_calls
        assert row.predicted_ahead == pytest.approx(row.predicted_calibrated, rel=1e-12)
        assert row.tokens == 12 * len(PROMPTS)
        assert row.block_efficiency == row.tokens / row.target_calls
        assert row.measured_low <= row.measured <= row.measured_high
        assert row.predicted_ahead_low < row.predicted_ahead < row.predicted_ahead_high
        assert row.error_percent == pytest.approx(
            100 * (row.predicted_calibrated / row.measured - 1)
        )
        assert row.tokens_per_second == pytest.approx(
            row.measured * row.baseline_tokens_per_second
        )


def test_a_sampled_validation_says_nothing_of_identity() -> None:
    for row in validation(1).rows:
        assert row.identical_to_target is None
        assert 0 < row.alpha < 1
        assert row.predicted_theorem8 > 0
        assert row.predicted_ahead != row.predicted_calibrated


def test_a_draft_step_that_never_was_has_no_price() -> None:
    class Silent(PromptLookupDrafter):
        def _continuation(self, text: Sequence[int], limit: int) -> list[int]:
            return []

    sampling = Sampling(temperature=0)
    target, _ = tiny_pair(sampling)
    drafter = Silent(device=target.device)
    [row] = validate(
        Subject(target, drafter, sampling, Stopping(6)),
        PROMPTS[:2],
        {"two": Fixed(2)},
        max_gamma=2,
        repeats=1,
        seed=0,
        progress=lambda: None,
    ).rows
    assert row.c is None
    assert row.accepted_fraction is None
    assert row.target_calls == row.tokens


def test_a_lossy_target_is_seen_not_to_be_identical() -> None:
    """A drafter that verification does not guard: the check must notice."""

    class Accepting:
        name = "accepting"
        lossless = True

        def accepts(self, p, q, tokens, uniform):   # type: ignore[no-untyped-def]
            return uniform >= 0

        def replacement(self, p, q):   # type: ignore[no-untyped-def]
            return p

    sampling = Sampling(temperature=0)
    target, drafter = tiny_pair(sampling, noise=0.5)
    result = validate(
        Subject(target, drafter, sampling, Stopping(12), Accepting()),
        PROMPTS,
        POLICIES,
        max_gamma=3,
        repeats=1,
        seed=0,
        progress=lambda: None,
    )
    assert not any(row.identical_to_target for row in result.rows)
    # Float32 texts part at no tie, and the row says so.
    assert all(row.tie_gap > 1e-3 for row in result.rows)


def validated(policies: Mapping[str, Policy | None], temperature: float, rule: Rule) -> Validation:
    sampling = Sampling(temperature=temperature)
    target, drafter = tiny_pair(sampling, noise=0.2)
    return validate(
        Subject(target, drafter, sampling, Stopping(20), rule),
        PROMPTS,
        policies,
        max_gamma=4,
        repeats=1,
        seed=0,
        progress=lambda: None,
    )


def test_every_policy_has_its_row_and_only_fixed_ones_predictions() -> None:
    policies = {"gamma 2": Fixed(2), "confidence:0.5": Confidence(0.5, 4), "adaptive": None}
    rows = validated(policies, 0, STRICT).rows
    assert [(row.policy, row.gamma) for row in rows] == [
        ("fixed", 2),
        ("confidence:0.5", None),
        ("adaptive", None),
    ]
    assert all(row.identical_to_target for row in rows)
    for row in rows[1:]:
        assert row.predicted_theorem8 is row.predicted_ahead is row.predicted_calibrated is None
        assert row.predicted_target_calls is row.end_to_end_predicted is row.error_percent is None
        assert row.measured > 0


@pytest.mark.parametrize("policies", [{"a": None}, {"a": Fixed(1), "b": None}, {"a": Fixed(1)}])
def test_progress_is_called_as_often_as_announced(policies: dict[str, Policy | None]) -> None:
    sampling = Sampling(temperature=0)
    target, drafter = tiny_pair(sampling)
    calls = []
    validate(
        Subject(target, drafter, sampling, Stopping(3)),
        PROMPTS,
        policies,
        max_gamma=2,
        repeats=2,
        seed=0,
        progress=lambda: calls.append(1),
    )
    assert len(calls) == generations(PROMPTS, policies, max_gamma=2, repeats=2)


def test_greedy_lenience_is_replayed_exactly_and_seen_to_be_lossy() -> None:
    strict = validated({"a": Fixed(3)}, 0, STRICT).rows[0]
    lenient = validated({"a": Fixed(3)}, 0, Lenient(0.02)).rows[0]
    assert lenient.alpha > strict.alpha
    assert (strict.rule, strict.lossless) == ("strict", True)
    assert (lenient.rule, lenient.lossless) == ("lenient 0.02", False)
    assert lenient.identical_to_target is False
    assert lenient.predicted_target_calls == lenient.target_calls
    assert lenient.target_calls < strict.target_calls
    assert lenient.predicted_theorem8 > 0
    assert lenient.predicted_ahead is None


def test_sampled_lenience_has_no_replay_to_predict_it() -> None:
    row = validated({"a": Fixed(3)}, 1, Lenient(0.2)).rows[0]
    assert row.predicted_theorem8 > 0
    assert row.predicted_ahead is row.predicted_calibrated is row.predicted_target_calls is None


def test_repeats_of_an_arm_have_one_text_and_arms_their_own() -> None:
    sampling = Sampling(temperature=1)
    target, drafter = tiny_pair(sampling)
    subject = Subject(target, drafter, sampling, Stopping(12))
    runs = run_arms(
        subject,
        PROMPTS,
        probing(subject, [1, 3])
        | {arm: under(subject, policy) for arm, policy in POLICIES.items()},
        repeats=3,
        seed=0,
        progress=lambda: None,
    )
    assert set(runs) == {BASELINE, AGAIN, "probe 1", "probe 3", *POLICIES}
    for prompts in runs.values():
        for repeats in prompts:
            assert len({run.tokens for run in repeats}) == 1
    assert len({prompts[0][0].tokens for prompts in runs.values()}) == len(runs)


def test_streams_differ_by_every_number_of_their_seed() -> None:
    device = tiny_pair(Sampling())[0].device
    states = {seeded(device, *seed).initial_seed() for seed in [(0, 0), (0, 1), (1, 0), (0, 0, 0)]}
    assert len(states) == 4
    assert seeded(device, 0, 1).initial_seed() == seeded(device, 0, 1).initial_seed()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_validation_of_one_prompt_has_no_intervals(temperature: float) -> None:
    sampling = Sampling(temperature=temperature)
    target, drafter = tiny_pair(sampling)
    result = validate(
        Subject(target, drafter, sampling, Stopping(12)),
        PROMPTS[:1],
        POLICIES,
        max_gamma=3,
        repeats=2,
        seed=0,
        progress=lambda: None,
    )
    for row in result.rows:
        assert row.predicted_ahead is not None
        assert row.predicted_ahead_low is row.predicted_ahead_high is None
        assert row.measured > 0
        assert row.measured_low is row.measured_high is None
