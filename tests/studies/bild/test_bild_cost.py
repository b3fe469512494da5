"""Calls and costs of Big Little Decoder."""

from typing import Any

import numpy as np
import pytest

from simulator.acceptance.tokens import expected_tokens
from simulator.choice.walltime import improvement_factor, operations_factor
from simulator.cost.curves import CostModel
from studies.bild.cost import BildCalls, expected_calls
from studies.bild.decoder import Fallback, Rollback
from studies.bild.prediction import NEVER, BildTrace, count_calls


def counted(
    confidence: Any, distance: Any, *, fallback: float, rollback: float, max_draft: int
) -> BildCalls:
    """Returns the calls where drafts are the recorded text, which ends after the last token."""
    tokens = len(confidence)
    padded = np.concatenate([confidence, np.full(max_draft, np.nan)])
    trace = BildTrace(
        certainty=np.lib.stride_tricks.sliding_window_view(padded, max_draft)[:tokens],
        ends=tokens - np.arange(tokens),
        distance=np.asarray(distance),
        same=np.ones(tokens, bool),
    )
    return count_calls(trace, Fallback(fallback, max_draft), Rollback(rollback))


def algorithm_1(
    confidence: Any, distance: Any, *, fallback: float, rollback: float, max_draft: int
) -> tuple[int, int, int, list[int]]:
    """Kim et al. 2023, Algorithm 1, token by token: tokens, large calls, small calls, drafts."""
    text = small_calls = 0
    drafts: list[int] = []
    while text < len(confidence):
        draft = 0
        while draft < max_draft and text + draft < len(confidence):
            small_calls += 1
            if confidence[text + draft] < fallback:
                break
            draft += 1
        if text + draft == len(confidence):
            text += draft  # the end of text: no large model reads it
            break
        drafts.append(draft)
        emitted = 0
        for position in range(text, text + draft):
            emitted += 1
            if distance[position] > rollback:
                break
        else:
            emitted += 1
        text += emitted
    return text, len(drafts), small_calls, drafts


@pytest.mark.parametrize("max_draft", [1, 3, 10])
@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_algorithm_1(seed: int, max_draft: int) -> None:
    generator = np.random.default_rng(seed)
    text = (generator.random(200), generator.random(200))
    setting: dict[str, Any] = {"fallback": 0.2, "rollback": 0.9, "max_draft": max_draft}
    calls = counted(*text, **setting)
    tokens, large, small, drafts = algorithm_1(*text, **setting)
    assert calls.tokens == tokens == 200
    assert calls.large_calls == large
    assert calls.small_calls == small
    assert calls.draft_lengths.tolist() == np.bincount(drafts, minlength=max_draft + 1).tolist()
    unread = calls.unread_lengths @ np.arange(max_draft + 1)
    assert calls.drafted_tokens == sum(drafts) + unread
    # Every token is a drafted one that stayed, or the large model's, one for each of its calls.
    discarded = calls.drafted_tokens - (calls.tokens - calls.large_calls)
    assert discarded == sum(drafts) + unread + large - 200


@pytest.mark.parametrize("length", [1, 2, 10])
def test_a_draft_that_reaches_the_end_is_not_read_by_the_large_model(length: int) -> None:
    calls = counted(np.ones(length), np.zeros(length), fallback=0.5, rollback=1.0, max_draft=10)
    assert calls.tokens == length
    assert calls.large_calls == 0
    assert calls.small_calls == calls.drafted_tokens == length
    assert calls.unread_lengths[length] == 1
    cost = CostModel(target_seconds={1: 2.0}, draft_seconds=0.5, overhead_seconds=0.25)
    assert calls.latency(cost) == 0.25
    assert calls.operations(0.25) == 0.25


@pytest.mark.parametrize(("fallback", "rollback", "max_draft"), [(0.2, 0.1, 10), (0.05, 0.3, 4)])
def test_expectation_agrees_with_blocks_drawn_at_random(
    fallback: float, rollback: float, max_draft: int
) -> None:
    blocks = 100_000
    generator = np.random.default_rng(1)
    unsure = generator.random((blocks, max_draft)) < fallback
    wrong = generator.random((blocks, max_draft)) < rollback
    drafted = np.where(unsure.any(axis=1), unsure.argmax(axis=1), max_draft)
    kept = np.where(wrong.any(axis=1), wrong.argmax(axis=1), max_draft)
    small_calls = drafted + (drafted < max_draft)
    expected = expected_calls(fallback, rollback=rollback, max_draft=max_draft)
    for drawn, mean in (
        (1 + np.minimum(kept, drafted), expected.tokens),
        (drafted, expected.drafted_tokens),
        (small_calls, expected.small_calls),
    ):
        # Six comparisons in all, each false by chance with odds of 7e-6 (4.5 standard errors).
        error = drawn.std(ddof=1) / np.sqrt(blocks)
        assert mean == pytest.approx(float(drawn.mean()), abs=4.5 * error)


@pytest.mark.parametrize("gamma", [1, 3, 7])
def test_without_fallback_it_is_speculative_decoding(gamma: int) -> None:
    # A fixed window and rollback 1 - α: Theorems 8 and 10 and §3.4 of Leviathan et al. 2023.
    alpha, c = 0.8, 0.05
    calls = expected_calls(0.0, rollback=1 - alpha, max_draft=gamma)
    assert calls.tokens == pytest.approx(float(expected_tokens(alpha, gamma)))
    latency = calls.latency(CostModel({1: 1.0}, c))
    assert 1 / latency == pytest.approx(float(improvement_factor(alpha, gamma, c)))
    operations = calls.operations(c)
    assert operations == pytest.approx(float(operations_factor(alpha, gamma, c)))
    traffic = calls.memory_traffic(0.0)
    assert traffic == pytest.approx(1 / float(expected_tokens(alpha, gamma)))


def test_a_small_model_that_always_falls_back_is_vanilla_inference_and_its_own_cost() -> None:
    calls = expected_calls(1.0, rollback=0.3, max_draft=10)
    assert calls.tokens == 1
    assert calls.small_calls == 1
    assert calls.draft_lengths[0] == 1
    assert calls.latency(CostModel({1: 1.0}, 0.25)) == 1.25
    assert calls.operations(0.1) == pytest.approx(1.1)


def test_operations_count_the_drafted_tokens_that_are_read() -> None:
    read = counted(np.ones(5), np.zeros(5), fallback=0.5, rollback=1.0, max_draft=3)
    assert (read.large_calls, read.drafted_tokens, read.tokens) == (1, 4, 5)
    assert read.operations(0.25) == (4 * 0.25 + 4) / 5


def test_latency_prices_each_call_by_the_tokens_it_reads() -> None:
    calls = BildCalls(tokens=10.0, small_calls=9.0, draft_lengths=np.array([1.0, 0, 2]))
    cost = CostModel(target_seconds={1: 2.0, 3: 3.0}, draft_seconds=0.5, overhead_seconds=0.25)
    expected = (9 * 0.5 + (2.0 + 0.25) + 2 * (3.0 + 0.25)) / (10 * 2.0)
    assert calls.latency(cost) == pytest.approx(expected)


def test_intensity_does_not_depend_on_the_rollback() -> None:
    # Rolling back wastes operations and their memory traffic alike.
    every = [expected_calls(0.1, rollback=each, max_draft=10) for each in (0.0, 0.01, 0.3)]
    values = [calls.operations(0.1) / calls.memory_traffic(0.1) for calls in every]
    assert values == pytest.approx([values[0]] * 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fallback": 1.2}, r"fallback must lie in \[0, 1\], got 1.2"),
        ({"rollback": -0.1}, r"rollback must lie in \[0, 1\], got -0.1"),
        ({"max_draft": 0}, "max_draft must be at least 1, got 0"),
    ],
)
def test_probabilities_out_of_range_are_refused(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"fallback": 0.1, "rollback": 0.1, "max_draft": 10} | change
    with pytest.raises(ValueError, match=message):
        expected_calls(**arguments)


@pytest.mark.parametrize(
    ("distances", "rollback", "most", "last", "expected"),
    [
        # Two are drafted and a third is refused; the second is replaced. One, and one refused.
        ((0.0, 3.0, 0.0), 1.0, 3, NEVER, (4, 3 + 2, 2)),
        # One token is kept, the large model adds its own; the rest as in the case before.
        ((0.0, 3.0, 0.0), 5.0, 1, NEVER, (4, 1 + 1, 2)),
        # A first draft of two, refused far away; the second ends the text after two.
        ((3.0, 3.0, 0.0), 1.0, 3, 2, (3, 3 + 2, 1)),
    ],
)
def test_a_draft_goes_on_as_it_would_and_may_end_the_text_unread(
    distances: tuple[float, ...],
    rollback: float,
    most: int,
    last: int,
    expected: tuple[int, int, int],
) -> None:
    """Three tokens are recorded; what drafts would go on with differs from them."""
    drafts = np.array([[0.9, 0.9, 0.1], [0.9, 0.9, 0.9], [0.9, 0.2, 0.9]])
    ends = np.array([NEVER, last, NEVER])
    trace = BildTrace(drafts, ends, np.array(distances), np.ones(3, bool))
    calls = count_calls(trace, Fallback(0.5, most), Rollback(rollback))
    assert (calls.tokens, calls.small_calls, calls.large_calls) == expected
    if last == 2:
        assert calls.unread_lengths.tolist() == [0, 0, 1, 0]
