"""A sweep: its limits are the two models, its counts the decoder's, its prediction the replay's."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from estimator.timing.precision import Timing
from estimator.validation.file import parse_rows
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling
from reference.records import Generation, Stopping
from reference.speculative import Subject, plain_session
from simulator.cost.curves import CostModel
from studies.bild.decoder import Fallback, Rollback
from studies.bild.grid import arms_of, probes_of
from studies.bild.prediction import NEVER, BildTrace, bild_trace, predict, spliced
from studies.bild.request import Grid
from studies.bild.sweep import own_metrics, reference_metrics, sweep
from studies.bild.swept import LARGE, SMALL, BildRow, Sweep
from tests.estimator.pairs import PROMPTS, tiny_llama, tiny_pair

GRID = Grid(
    fallback=(0.0, 0.3, 1.1), rollback=(0.0, 1.0, math.inf), max_gamma=3,
    distance="disagreement", windows=(2,), gammas=(2,),
)  # fmt: skip
SWEPT = PROMPTS[1:3]
LITTLE = replace(GRID, fallback=(0.3,), rollback=(1.0,))


def swept(temperature: float, references: list[str] | None = None, *, grid: Grid = GRID) -> Sweep:
    sampling = Sampling(temperature)
    target, drafter = tiny_pair(sampling, noise=0.05)
    done: list[None] = []
    result = sweep(
        Subject(target, drafter, sampling, Stopping(12)),
        SWEPT,
        grid,
        Timing(progress=lambda: done.append(None)),
        references=references,
        text_of=lambda ids: " ".join(map(str, ids)),
    )
    arms = len(arms_of(grid, frozenset(), 1)) + len(probes_of(grid, frozenset())) + 2
    assert len(done) == arms * len(SWEPT)
    return result


@pytest.fixture(scope="module")
def greedy() -> Sweep:
    return swept(0.0)


@pytest.fixture(scope="module")
def sampled() -> Sweep:
    """Returns a sweep with references."""
    return swept(1.0, ["1 2 3 4"] * len(SWEPT), grid=LITTLE)


def bild(result: Sweep, fallback: float, rollback: float | None) -> BildRow:
    rows = result.of("bild")
    [row] = [row for row in rows if (row.fallback, row.rollback) == (fallback, rollback)]
    return row


def test_every_way_to_decode_has_a_row(greedy: Sweep) -> None:
    decoders = [row.decoder for row in greedy.rows]
    assert decoders == [LARGE, SMALL, *["bild"] * 9, *["window"] * 3, "strict", "lenient"]
    assert greedy.metric == "agreement"


def test_the_limits_are_the_large_model_and_the_small_one(greedy: Sweep) -> None:
    large, small = greedy.rows[:2]
    assert large.quality["agreement"] == 100
    assert (large.large_calls, large.small_calls) == (large.tokens, 0)
    assert (small.large_calls, small.small_calls) == (0, small.tokens)
    for rollback in (0.0, 1.0, None):
        alone = bild(greedy, 1.1, rollback)
        assert alone.quality == large.quality
        assert alone.large_calls == alone.small_calls == alone.tokens


def test_percentages_are_of_emitted_tokens(greedy: Sweep) -> None:
    row = bild(greedy, 0.0, 0.0)
    assert row.rollbacks > 0
    assert row.rollback_percent == 100 * row.rollbacks / row.tokens
    assert row.fallback_percent == 100 * row.large_calls / row.tokens
    assert row.tokens == row.small_calls - row.discarded + row.large_calls


def test_where_nothing_departs_from_the_large_models_text_calls_are_predicted_exactly(
    greedy: Sweep,
) -> None:
    # Disagreement without tolerance: a drafted token is kept where it is the large model's token.
    # Only a text's last draft can differ, because no large call reads it; the trace records this.
    rows = [row for row in greedy.rows if row.decoder in ("bild", "window") and row.rollback == 0]
    assert len(rows) == 4
    for row in rows:
        assert row.predicted_large_calls == pytest.approx(row.large_calls, abs=1e-9)
        assert row.predicted_small_calls == pytest.approx(row.small_calls, abs=1e-9)


def test_only_bild_at_temperature_0_is_predicted(greedy: Sweep, sampled: Sweep) -> None:
    for row in greedy.rows:
        assert (row.predicted is None) == (row.decoder not in ("bild", "window"))
        assert (row.error_percent is None) == (row.predicted is None)
    found = greedy.summary()
    assert all(row.predicted is None for row in sampled.rows)
    for name in ("error_percent", "time_error_percent"):
        both = []
        for decoder in ("bild", "window"):
            own = [abs(getattr(row, name)) for row in greedy.of(decoder)]
            assert found[f"{decoder}_mean_abs_{name}"] == pytest.approx(np.mean(own))
            both += own
        assert found[f"mean_abs_{name}"] == pytest.approx(np.mean(both))
        assert sampled.summary()[f"mean_abs_{name}"] is None


def test_a_row_is_written_with_its_derived_numbers(greedy: Sweep) -> None:
    for row in greedy.rows:
        data = row.data()
        assert data["measured"] == row.measured
        assert data["seconds"] == pytest.approx(row.ms_per_token / 1e3, rel=1e-15)
        assert row.tokens_per_second == pytest.approx(1 / row.seconds)
        if row.predicted is not None:
            assert data["error_percent"] == 100 * (row.predicted - row.measured) / row.measured
    assert parse_rows([row.data() for row in greedy.rows], BildRow, name="it") == greedy.rows


def test_the_files_of_the_published_sweeps_are_still_read() -> None:
    """Written before rows of all decoders shared their names."""
    for file in (Path(__file__).parents[3] / "figures" / "results" / "bild").glob("*.json"):
        published = json.loads(file.read_text(encoding="utf-8"))
        rows = parse_rows(published["rows"], BildRow, name=file.name)
        for row, written in zip(rows, published["rows"], strict=True):
            for name, value in written.items():
                if name == "rollbacks_at_least":  # of strict rows, whose count was too high
                    continue
                found = getattr(row, "time_error_percent" if name == "error_percent" else name)
                assert found == (pytest.approx(value) if isinstance(value, float) else value)


def test_sampled_texts_are_compared_with_the_greedy_one(greedy: Sweep, sampled: Sweep) -> None:
    # At temperature 0 the large model's text equals its greedy text; a sampled text does not.
    assert sampled.rows[0].quality["agreement"] < 100
    assert greedy.rows[0].quality["agreement"] == 100


def test_no_row_of_the_front_is_beaten_and_every_other_is(greedy: Sweep) -> None:
    points = [(row.quality["agreement"], row.measured) for row in greedy.rows]
    for row, own in zip(greedy.rows, points, strict=True):
        better = [p for p in points if p != own and p[0] >= own[0] and p[1] >= own[1]]
        assert row.pareto == (better == [])


def test_references_give_bleu_and_must_be_as_many_as_prompts(sampled: Sweep) -> None:
    assert sampled.metric == "bleu"
    names = {"bleu", "rouge_l", "exact", "agreement", "log_likelihood"}
    assert set(sampled.rows[0].quality) == names
    with pytest.raises(ValueError, match="references must be as many as the prompts, 2, got 1"):
        swept(0.0, ["1 2 3 4"])


def test_a_grid_must_not_be_empty() -> None:
    with pytest.raises(ValueError, match="at least one fallback and one rollback, got 0 and 1"):
        Grid(fallback=(), rollback=(1.0,))


def test_prediction_at_other_thresholds_prices_the_traces_calls() -> None:
    cost = CostModel(target_seconds={1: 1.0, 2: 1.5, 3: 2.0}, draft_seconds=0.25)
    trace = BildTrace(
        certainty=np.array([[0.9, 0.2], [0.2, 0.9], [0.9, 0.9], [0.9, 0.9], [0.9, 0.9]]),
        ends=np.full(5, NEVER),
        distance=np.array([0.0, 9.0, 3.0, 0.0, 0.0]),
        same=np.array([True, False, False, True, True]),
    )
    # A draft of one, refused at the second; then two, the first rolled back; then two, unread.
    calls = predict([trace], [trace], Fallback(0.5, 2), Rollback(1.0), max_new_tokens=5)
    seconds = (0.25 + 0.25 + 1.5) + (2 * 0.25 + 2.0) + 2 * 0.25
    assert calls.latency(cost) * cost.baseline_seconds == pytest.approx(seconds / 5)
    assert (calls.tokens, calls.large_calls, calls.small_calls) == (5, 2, 6)


@pytest.mark.parametrize(
    ("fallback", "rollback", "departs_at"),
    [(0.5, 1.0, None), (0.5, 4.0, 2), (0.1, 4.0, 1), (0.1, 1.0, 1), (0.5, 2.0, 2)],
)
def test_a_text_departs_where_a_token_stands_that_is_not_the_large_models(
    fallback: float, rollback: float, departs_at: int | None
) -> None:
    same = np.array([True, False, False, True])
    certain = np.array([[0.9, 0.2], [0.2, 0.7], [0.8, 0.4], [0.9, 0.3]])
    large = BildTrace(certain, np.arange(4), np.array([0.0, 0.5, 2.0, 0.0]), same)
    small = BildTrace(np.full((6, 2), 0.6), np.full(6, 9), np.full(6, 1.5), np.full(6, True))
    trace = spliced(large, small, Fallback(fallback), Rollback(rollback))
    if departs_at is None:
        assert trace is large
        return
    for name in ("certainty", "ends", "distance", "same"):
        before, after, got = (getattr(each, name).tolist() for each in (large, small, trace))
        assert got == before[: departs_at + 1] + after[departs_at + 1 :]


def test_a_trace_holds_the_drafts_that_would_begin_at_each_token() -> None:
    sampling = Sampling(0.0)
    target, drafter = tiny_pair(sampling, noise=0.05)
    prompt, text = [1, 2], [3, 4, 30, 7, 30]
    written = [
        [*text[:place], *greedy_draft(drafter, [*prompt, *text[:place]])]
        for place in range(len(text))
    ]
    end = written[2][4]  # what the third draft writes third
    fallback = Fallback(0.5, 4, end_ids=frozenset({end}))
    trace = bild_trace(target, drafter, prompt, text, fallback, Rollback(1.0))
    assert trace.certainty.shape == (5, 4)
    assert {part.shape for part in (trace.ends, trace.distance, trace.same)} == {(5,)}
    for place in range(len(text)):
        draft = written[place][place:]
        ends = draft.index(end) + 1 if end in draft else NEVER
        assert trace.ends[place] == ends
        assert np.isfinite(trace.certainty[place]).sum() == min(ends, 4)
        assert trace.same[place] == (draft[0] == text[place])
        # Its first place is the law after the text so far.
        shorter = text[: place + 1]
        single = bild_trace(target, drafter, prompt, shorter, fallback, Rollback(1.0))
        np.testing.assert_allclose(
            trace.certainty[place], single.certainty[place], rtol=1e-4, equal_nan=True
        )


def greedy_draft(drafter: ModelDrafter, text: list[int]) -> list[int]:
    """Returns four tokens that the small model writes after a text, each from a pass of its own."""
    written: list[int] = []
    for _ in range(4):
        drafter.draft.start(text)
        drafter.draft.rollback(0)
        logits = drafter.draft.extend(torch.tensor([*text, *written]))
        written.append(int(logits[-1].argmax()))
    return written


def test_references_are_judged_by_the_libraries() -> None:
    texts = ["the cat sat on the mat", " a dog "]
    references = ["the cat sat on a mat", "a dog"]
    metrics = reference_metrics(texts, references)
    # ROUGE-L of the first: LCS 5 of 6 and 6 words; the second is equal but for blanks.
    assert metrics["rouge_l"] == pytest.approx(100 * (5 / 6 + 1) / 2)
    assert metrics["exact"] == 50
    # BLEU longhand: 7/8 words (BLEU's own tokens, both texts), 4/6, 2/4, 1/3 of longer n-grams.
    expected = 100 * float(np.exp(np.mean(np.log([7 / 8, 4 / 6, 2 / 4, 1 / 3]))))
    assert metrics["bleu"] == pytest.approx(expected)
    assert reference_metrics(references, references)["rouge_l"] == 100


def own(prompt: list[int], temperature: float = 0.0) -> Generation:
    return plain_session(
        tiny_llama(seed=0),
        prompt,
        sampling=Sampling(temperature),
        stopping=Stopping(8),
        generator=torch.Generator().manual_seed(1),
    ).finished()


def test_the_targets_own_text_agrees_with_itself_and_likelihood_is_of_its_law() -> None:
    model = tiny_llama(seed=0)
    greedy = [own(prompt) for prompt in PROMPTS]
    metrics = own_metrics(model, PROMPTS, greedy, greedy)
    assert metrics["agreement"] == 100
    logarithms = []
    for prompt, run in zip(PROMPTS, greedy, strict=True):
        text = list(prompt)
        for token in run.tokens:
            with torch.inference_mode():
                logits = model.module(torch.tensor([text])).logits[0, -1].double()
            logarithms.append(float(logits.log_softmax(-1)[token]))
            text.append(token)
    assert metrics["log_likelihood"] == pytest.approx(np.mean(logarithms), abs=1e-5)
    sampled = [own(prompt, 1.0) for prompt in PROMPTS]
    other = own_metrics(model, PROMPTS, sampled, greedy)
    assert other["agreement"] < 100
    assert other["log_likelihood"] < metrics["log_likelihood"]
