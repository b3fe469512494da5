"""Schedules in the words of servers."""

import json
import shlex

import pytest

from simulator.choice.schedule import Range
from specplan.reports.export import export_schedule

RANGES = (Range(1, 16, 5), Range(17, 64, 2), Range(65, 256, 0))


def test_vllm_takes_ranges_and_their_largest_gamma() -> None:
    flag, config = shlex.split(export_schedule("vllm", RANGES, draft="a draft", kind="EAGLE-3"))
    assert flag == "--speculative-config"
    assert json.loads(config) == {
        "method": "eagle3",
        "model": "a draft",
        "num_speculative_tokens": 5,
        "num_speculative_tokens_per_batch_size": [[1, 16, 5], [17, 64, 2], [65, 256, 0]],
    }


def test_vllms_own_heads_need_no_draft() -> None:
    _, config = shlex.split(export_schedule("vllm", RANGES, draft="D", kind="MTP"))
    assert json.loads(config)["method"] == "mtp"
    assert "model" not in json.loads(config)


def test_tensorrt_llm_stops_after_the_last_batch_that_drafts() -> None:
    text = export_schedule("tensorrt-llm", RANGES, draft="D")
    assert "draft_len_schedule: {16: 5, 64: 2}" in text
    assert "max_draft_len: 5" in text


def test_sglang_takes_the_steps_by_the_first_batch_size_of_each_range() -> None:
    text = export_schedule("sglang", RANGES, draft="D", kind="EAGLE-3")
    assert json.loads(text.splitlines()[1]) == {
        "1": {"candidate_steps": [5]},
        "17": {"candidate_steps": [2]},
        "65": {"candidate_steps": [0]},
    }
    assert "--speculative-num-steps 5" in text
    assert "--speculative-algorithm EAGLE3" in text


@pytest.mark.parametrize("server", ["vllm", "tensorrt-llm", "sglang"])
def test_a_schedule_that_never_drafts_needs_no_flags(server: str) -> None:
    assert export_schedule(server, (Range(1, 8, 0),), draft="D").startswith("# gamma is 0")


def test_a_server_without_schedules_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must be one of sglang, .*, got llama.cpp"):
        export_schedule("llama.cpp", RANGES, draft="D")
