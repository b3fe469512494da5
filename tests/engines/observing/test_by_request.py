"""Acceptance by request: vLLM's answers, llama.cpp's timings, and how far requests differ."""

import json
import math
from typing import Any

import numpy as np
import pytest

from engines.observing.alphas import RequestCounts, alpha_spread
from engines.observing.vllm import read_answer
from tests.engines.metrics_pages import vllm_answer as answer


def test_the_published_example_is_read() -> None:
    """The answer in vLLM's documentation: 43 steps, histogram 39, 1, 0, 3."""
    accepted = [0] * 39 + [1] + [3] * 3
    found = read_answer(answer(accepted, [3] * 43, 3, detailed=False), None)
    assert (found.drafts, found.drafted, found.accepted) == (43, 129, 10)
    assert found.by_position == (4, 3, 3)
    assert found.block_efficiency == pytest.approx(1.2325581395348837)
    assert found.accepted_fraction == pytest.approx(0.07751937984496124)
    # 3 blocks stood whole: 10 accepted tokens, 40 rejected ones.
    assert found.alpha_iid.value == pytest.approx(10 / 50)


def test_short_blocks_accepted_in_full_are_no_rejections_where_steps_are_listed() -> None:
    accepted, drafted = [4, 1, 2, 0, 4], [4, 1, 2, 2, 4]
    detailed = read_answer(answer(accepted, drafted, 4, detailed=True), None)
    assert detailed.alpha_iid.value == pytest.approx(11 / 12)
    assert not detailed.is_lower_bound
    summary = read_answer(answer(accepted, drafted, 4, detailed=False), None)
    assert summary.is_lower_bound
    assert summary.alpha_iid.value < detailed.alpha_iid.value


def lines(*answers: object) -> str:
    return "\n".join(map(json.dumps, answers))


def test_answers_are_summed_and_kept_by_request(saved) -> None:
    accepted = ([3, 3, 2], [0, 1, 0, 0])
    found = saved(lines(*(answer(each, [3] * len(each), 3, detailed=False) for each in accepted)))
    assert found.drafts == 7
    assert [each.accepted / each.trials for each in found.requests] == pytest.approx([8 / 9, 1 / 5])


def test_llama_cpp_timings_are_kept_by_request(saved) -> None:
    timings = [
        {"predicted_n": 20, "predicted_ms": 100.0, "draft_n": 20, "draft_n_accepted": accepted}
        for accepted in (14, 9)
    ]
    found = saved(json.dumps([{"timings": timing} for timing in timings]), gamma=4)
    assert [request.accepted for request in found.requests] == [14, 9]
    assert found.requests[0].drafts == 5
    assert alpha_spread(found.requests) is not None


def test_the_spread_is_that_of_the_requests_without_chance() -> None:
    """Beta-binomial counts of known spread; 4 standard errors of a variance of 4,000 requests."""
    generator = np.random.default_rng(3)
    for spread in (0.0, 0.1):
        total = 0.6 * 0.4 / spread**2 - 1 if spread else math.inf
        rates = generator.beta(0.6 * total, 0.4 * total, 4000) if spread else np.full(4000, 0.6)
        trials = generator.integers(20, 60, 4000)
        hits = generator.binomial(trials, rates)
        requests = [
            RequestCounts(1, 1, int(hit), float(count))
            for hit, count in zip(hits, trials, strict=True)
        ]
        found = alpha_spread(requests)
        assert found is not None
        assert found**2 == pytest.approx(spread**2, abs=4 * 0.017 * math.sqrt(2 / 4000) + 1e-9)
    assert alpha_spread(requests[:1]) is None


def test_null_arrays_are_those_of_a_summary() -> None:
    """vLLM's protocol writes `null` where steps are not listed one by one."""
    summary = answer([3, 0, 2], [3] * 3, 3, detailed=False)
    null = answer([3, 0, 2], [3] * 3, 3, detailed=False)
    null["metrics"]["speculative_decoding"] |= {"per_step_accepted": None, "per_step_drafted": None}
    assert read_answer(null, None) == read_answer(summary, None)


def test_requests_have_the_category_or_task_of_their_answer(saved) -> None:
    """An answer of one token, which needs no draft, hides no other request."""
    written, short = answer([3, 1], [3, 3], 3, detailed=False), answer([], [], 3, detailed=False)
    labelled = [{"category": "code", **written}, short, {"task": "chat", **written}, written]
    assert [each.category for each in saved(lines(*labelled)).requests] == ["code", "chat", None]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"acceptance_histogram": [1, 1]}, "acceptance_histogram must have 2 steps with 3"),
        ({"acceptance_histogram": "x"}, "acceptance_histogram must be a list of whole numbers"),
        ({"num_spec_steps": -1}, "num_spec_steps must be a whole number of at least 0, got -1"),
        ({"per_step_accepted": [9, 9]}, "per_step_accepted and per_step_drafted must add up"),
    ],
)
def test_answers_that_contradict_themselves_are_refused(
    changes: dict[str, Any], message: str
) -> None:
    broken = answer([1, 2], [2, 2], 2, detailed=True)
    broken["metrics"]["speculative_decoding"] |= changes
    with pytest.raises(ValueError, match=message):
        read_answer(broken, None)


def test_answers_without_the_metrics_are_refused() -> None:
    with pytest.raises(ValueError, match="--per-request-spec-decode-metrics turns it on"):
        read_answer({"metrics": None}, None)
