"""The accepted length by context, from answers that count their prompts."""

import json

import pytest

from engines.observing.by_context import by_context
from specplan.reports.observation import observation_json, observation_text
from tests.engines.metrics_pages import vllm_answer

# Prompt and cached tokens, generated tokens, and accepted of 90 drafted tokens.
ANSWERS = [(1100, 0, 81, 50), (100, 1100, 81, 48), (7000, 900, 81, 20), (7800, 0, 81, 24)]


def timings(prompt: int, cached: int, generated: int, accepted: int) -> str:
    counts = {"draft_n": 90, "draft_n_accepted": accepted}
    times = {"prompt_n": prompt, "cache_n": cached, "predicted_n": generated, "predicted_ms": 400.0}
    return json.dumps({"timings": times | counts})


def test_lengths_fall_where_long_contexts_accept_less(saved) -> None:
    found = saved("\n".join(timings(*each) for each in ANSWERS), gamma=3)
    short, long = by_context(found.requests, found.gamma)
    # Each text's first token is the prompt's; a call emits its accepted tokens and one more.
    assert (short.first, short.last, long.first, long.last) == (1140, 1240, 7840, 7940)
    assert (short.requests, short.drafts, long.drafts) == (2, 30 + 32, 60 + 56)
    assert short.length == pytest.approx(160 / 62)
    assert long.length == pytest.approx(160 / 116)
    assert long.low < long.length < long.high < short.low < short.length < short.high
    data = observation_json(found, seconds=None)
    assert [row["length"] for row in data["by_context"]] == [short.length, long.length]
    assert data["requests"][0]["context"] == 1140
    assert "1140 to 1240" in observation_text(found, data)


def test_contexts_within_one_doubling_are_not_compared(saved) -> None:
    found = saved("\n".join(timings(*each) for each in ANSWERS[2:]), gamma=3)
    assert by_context(found.requests, 3) == ()
    assert observation_json(found, seconds=None)["by_context"] == []


def test_vllms_answers_count_the_prompt_in_their_usage(saved) -> None:
    answers = [vllm_answer([3, 1, 2], [3, 3, 3], 3, detailed=False) for _ in range(2)]
    usages = [{"completion_tokens": 10, "prompt_tokens": prompt} for prompt in (100, 5000)]
    texts = [each | {"usage": usage} for each, usage in zip(answers, usages, strict=True)]
    found = saved("\n".join(map(json.dumps, texts)))
    assert [request.context for request in found.requests] == [104, 5004]
    plain = saved("\n".join(map(json.dumps, answers)))
    assert [request.context for request in plain.requests] == [None, None]
