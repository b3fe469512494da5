"""Rows of a validation: the machine's speed, turn by turn, moves neither estimate nor interval."""

from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs
from numpy.typing import NDArray

from engines.counting import NOTHING, Counts
from engines.engine import Completion, EngineRun
from engines.text_scores import TextScores
from engines.trials.timing import Steps, timed_steps
from engines.trials.trial import Trial
from engines.trials.validation import EngineRow, EngineValidation, judge
from specplan.reports.engines import validation_text
from tests.engines.made_trials import ALONE, GAMMA, STEP, TOKENS, made_run, made_runs, made_trial

REPEATS, PROMPTS = 2, 5
QUIET = np.ones((4, REPEATS, PROMPTS))


def judged(trial: Trial) -> EngineRow:
    """Returns the row of texts of zeros, which both models find certain."""
    [case], sure = trial.cases, TextScores.of(np.zeros(TOKENS), np.ones(TOKENS, dtype=int))
    scores = {(prompt, (0,) * TOKENS): (sure, sure) for prompt in trial.prompts}
    return judge(trial, scores, timed_steps(trial, case), GAMMA, case)


def test_speeds_of_turns_leave_no_trace_in_the_interval() -> None:
    speeds = np.random.default_rng(0).uniform(1, 2, (REPEATS, PROMPTS))
    row = judged(made_runs(speeds * QUIET))
    assert row.target_calls == row.predicted_target_calls == 2 * PROMPTS * REPEATS
    assert row.measured == pytest.approx(ALONE * (GAMMA + 1) / STEP)
    assert (row.measured_low, row.measured_high) == pytest.approx((row.measured,) * 2)


def test_differences_between_prompts_make_the_interval() -> None:
    noise = np.exp(np.random.default_rng(1).normal(0, 0.05, (2, REPEATS, PROMPTS)))
    row = judged(made_runs(np.concatenate([noise, noise])))
    assert row.measured_low is not None
    assert row.measured_high is not None
    assert row.measured_low < row.measured < row.measured_high


def test_repeats_are_resampled_where_prompts_ran_at_once() -> None:
    row = judged(made_runs(np.outer([1.0, 1.7], np.ones(PROMPTS)) * QUIET, at_once=4))
    assert row.measured_low == pytest.approx(row.measured)
    assert row.measured == pytest.approx(ALONE * (GAMMA + 1) / STEP)


def greedy_row(
    *,
    gaps: NDArray[np.float64],
    blocks: int,
    accepted: int,
    missed: NDArray[np.bool_] | None = None,
    repeats: int = 1,
    engine: str = "llama.cpp",
) -> EngineRow:
    """Returns the row of texts at temperature 0.

    Args:
      gaps: differences in the target's logits between its own ids and the texts', shape
        (texts, tokens); 0: equal ids.
      blocks: number of blocks of each text after its first id.
      accepted: number of accepted tokens per block.
      missed: which ids of the texts are not the draft's likeliest; None: they all are.
      engine: which wrote the texts.
    """
    texts, tokens = gaps.shape
    trial = replace(
        made_trial(gamma=4, prompts=texts, tokens=tokens, engine=engine, servers="together"),
        repeats=repeats,
    )
    [case] = trial.cases
    counts = Counts.of(blocks, 4 * blocks, (blocks,) * accepted)
    ids = [tuple((row > 0).astype(int).tolist()) for row in gaps]
    own = tuple(Completion(each, 1, blocks * STEP) for each in ids)
    alone = (Completion((0,) * tokens, 1, ALONE * (tokens - 1)),) * texts
    runs = {4: EngineRun(own, (counts,) * texts), 0: EngineRun(alone, (NOTHING,) * texts)}
    trial.runs[case] = {(use, g): [runs[g]] * repeats for use in ("rows", "priced") for g in runs}
    sure, ranks = np.zeros(tokens), np.ones(tokens, dtype=int)
    of_draft = ranks + (np.zeros_like(gaps, dtype=bool) if missed is None else missed)
    # On the target's own text the draft's likeliest is it as often as on its own the target's.
    scores = {
        (prompt, (0,) * tokens): (TextScores.of(sure, ranks), TextScores.of(sure, 1 + (row > 0)))
        for prompt, row in zip(trial.prompts, gaps, strict=True)
    } | {
        (prompt, text): (TextScores.of(-row, 1 + (row > 0)), TextScores.of(sure, found))
        for prompt, text, row, found in zip(trial.prompts, ids, gaps, of_draft, strict=True)
    }
    return judge(trial, scores, timed_steps(trial, case), 4, case)


def wrong_ids(share: float) -> NDArray[np.bool_]:
    return np.random.default_rng(3).random((3, 31)) < share


def test_a_verifier_that_takes_every_greedy_draft_is_named() -> None:
    # The first id is the prompt's; six blocks of four drafts and a last id each follow.
    row = greedy_row(gaps=2.0 * wrong_ids(0.4), blocks=6, accepted=4)
    assert row.identical_to_target is False
    assert not row.acceptance_explained
    assert "its texts are not the target's: 3 of 3 part from the target's own at an id" in row.audit
    assert "2 below its likeliest in logits" in row.audit
    assert row.acceptance_predicted[0].value < 0.8
    assert row.acceptance_counted[3].value == 1
    assert row.predicted_from == "counts"
    assert row.predicted_seconds_per_token == pytest.approx(row.seconds_per_token)


def test_greedy_texts_that_part_at_near_ties_are_the_targets_own() -> None:
    row = greedy_row(gaps=0.01 * wrong_ids(0.1), blocks=6, accepted=4)
    assert (row.identical_to_target, row.audit) == (False, "")
    assert row.predicted_from == "replay"


def test_greedy_repeats_past_the_end_are_one_draw() -> None:
    gaps, missed = np.zeros((3, 31)), np.random.default_rng(4).random((3, 31)) < 0.3
    once, often = (
        greedy_row(gaps=gaps, blocks=10, accepted=2, missed=missed, repeats=repeats, engine="vllm")
        for repeats in (1, 7)
    )
    assert once.acceptance_predicted[3].low < once.acceptance_predicted[3].high
    assert often.acceptance_predicted == once.acceptance_predicted


def test_tokens_accepted_past_the_end_of_texts_are_counted_apart() -> None:
    """Eight steps accept 24 drafted tokens, of which the texts have room for 22."""
    row = greedy_row(gaps=np.zeros((3, 31)), blocks=8, accepted=3, engine="vllm")
    assert row.measured == pytest.approx(ALONE * 30 / (8 * STEP))

    def text(row: EngineRow) -> str:
        steps = {(row.temperature, row.concurrency): Steps(ALONE, {4: STEP})}
        found = EngineValidation((row,), steps, PROMPTS, REPEATS)
        return " ".join(validation_text(found).split())

    sentence = (
        "vllm drafts past a text's end and counts what it accepts there: 4.00 tokens a step, 3.75 "
        "of them in the texts (temperature 0, 1 at once, gamma 4)."
    )
    assert sentence in text(row)
    assert "past a text's end" not in text(greedy_row(gaps=np.zeros((3, 31)), blocks=6, accepted=4))


def test_steps_that_shrink_with_gamma_are_marked_in_the_row() -> None:
    """Prices at γ 1 of twice what they are at γ 3, as a clock under load once had it."""
    trial = made_runs(QUIET)
    [case] = trial.cases
    slow = [made_run(trial, [2 * 2 * STEP] * PROMPTS, drafts=True) for _ in range(REPEATS)]
    trial.runs[case]["priced", 1] = trial.runs[case]["rows", 1] = slow
    row = judged(replace(trial, gammas=(1, GAMMA), priced=(1, GAMMA)))
    assert row.doubts == ("a step takes 5.00 ms at gamma 3 and 10.00 at gamma 1",)
    assert judged(made_runs(QUIET)).doubts == ()


def test_a_speed_up_beyond_the_tokens_of_a_step_is_marked_in_the_row() -> None:
    slow = QUIET.copy()
    slow[2] *= 3  # the baseline on the predicted prompts
    row = judged(made_runs(slow))
    assert row.measured == pytest.approx(4.8)
    (doubt,) = row.doubts
    assert doubt.startswith("a speed-up of 4.80 is more than the 4 tokens of a step (the steps ")


def test_a_row_in_doubt_never_ends_in_explained() -> None:
    """As a busy machine once had it: far apart, and steps at γ 1 dearer than at γ 3."""
    row = judged(made_runs(QUIET))
    steps = {(row.temperature, row.concurrency): Steps(ALONE, {1: 2 * STEP, GAMMA: STEP})}

    def told(*doubts: str) -> str:
        found = EngineValidation((structs.replace(row, doubts=doubts),), steps, PROMPTS, REPEATS)
        return " ".join(validation_text(found).split())

    assert row.acceptance_explained
    explained = "the engine accepts what its models' distributions imply"
    assert explained in told()
    assert explained not in told("too noisy to use (0.1 to 6.8e+08 times)")
    assert "In doubt: temperature 0, 1 at once, gamma 3: the interval" in told("the interval")
