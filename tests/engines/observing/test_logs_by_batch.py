"""Logs with throughput give times by batch; all steps of a lookup are counted."""

import json
from typing import Any

import pytest

from engines.counting import Counts
from engines.observing.by_batch import by_batch, lines_of
from engines.observing.vllm import read_answer
from tests.engines.metrics_pages import vllm_answer, vllm_page, vllm_times

# `log_decode_stats` of SGLang writes such lines; until 2025 "batch." and no "accept rate".
ARGUMENTS = (
    "[2026-11-20 10:11:58] server_args=ServerArgs(model_path='M', speculative_algorithm='EAGLE3', "
    "speculative_draft_model_path='D', speculative_num_steps=3, speculative_eagle_topk={topk}, "
    "speculative_num_draft_tokens=4)\n"
)


def decoded(running: int, length: float, speed: float, at: str = "") -> str:
    return (
        f"[2026-11-20 10:12:05{at}] Decode batch, #running-req: {running}, #token: 6912, token "
        f"usage: 0.02, accept len: {length}, accept rate: 0.60, cuda graph: True, gen throughput "
        f"(token/s): {speed}, #queue-req: 0\n"
    )


STEADY = "".join(decoded(6, 2.4, speed) for speed in (4.1, 1200.0, 1200.0, 1250.0))


def vllm_lines(running: int, generated: float, *, drafts: int, accepted: tuple[int, ...]) -> str:
    """Returns the two lines of an interval of ten seconds, as `LoggingStatLogger.log` prints."""
    rates = ", ".join(f"{hits / drafts:.3f}" for hits in accepted)
    drafted, taken = drafts * len(accepted), sum(accepted)
    return (
        f"INFO 11-20 10:12:11 [loggers.py:127] Engine 000: Avg prompt throughput: 812.3 tokens/s, "
        f"Avg generation throughput: {generated} tokens/s, Running: {running} reqs, Waiting: 0 "
        f"reqs, GPU KV cache usage: 3.1%\n"
        f"INFO 11-20 10:12:11 [metrics.py:96] SpecDecoding metrics: Mean acceptance length: "
        f"{1 + taken / drafts:.2f}, Accepted throughput: {taken / 10:.2f} tokens/s, Drafted "
        f"throughput: {drafted / 10:.2f} tokens/s, Accepted: {taken} tokens, Drafted: {drafted} "
        f"tokens, Per-position acceptance rate: {rates}, Avg Draft acceptance rate: 47.0%\n"
    )


EVERY = vllm_lines(6, 241.0, drafts=1000, accepted=(700, 440, 270))
# 1,500 of 9,000 steps drafted in ten seconds: 9,000 + 900 tokens.
LOOKUP = vllm_lines(4, 990.0, drafts=1500, accepted=(450, 300, 150))
LOOKUP_BENCH = {
    "model_id": "M", "completed": 100, "total_output_tokens": 10_000, "mean_tpot_ms": 10.0,
    "spec_decode_num_drafts": 1500, "spec_decode_draft_tokens": 4500,
    "spec_decode_accepted_tokens": 900, "spec_decode_acceptance_length": 1.6,
    "spec_decode_per_position_acceptance_rates": [0.3, 0.2, 0.1],
}  # fmt: skip
CUT = {key: value for key, value in LOOKUP_BENCH.items() if key != "completed"}
OF_LOOKUP = {"drafts": 9000, "drafting": 1500, "hits": (450, 300, 150), "all_steps": True}


@pytest.mark.parametrize(
    ("text", "gamma", "read"),
    [
        (ARGUMENTS.format(topk=1) + STEADY, None,
         {"kind": "sglang", "origin": "log", "model": "M", "gamma": 3, "drafts": 4 * 40 * 6,
          "drafted": 3 * 960, "accepted": round(960 * 1.4), "notes": ()}),
        (STEADY.replace("batch,", "batch."), 5, {"gamma": 5}),
        (ARGUMENTS.format(topk=1) + STEADY, 2, {"gamma": 2}),
        (STEADY.replace("accept len: 2.4, accept rate: 0.60, ", ""), 0, {"drafts": 0}),
        (ARGUMENTS.format(topk=1).replace("steps=3", "steps=None") + STEADY, None, {"gamma": 3}),
        (ARGUMENTS.format(topk=1).replace("topk=1", "topk=1, decode_log_interval=10") + STEADY,
         None, {"drafts": 4 * 10 * 6}),
        (EVERY, None, {"drafts": 1000, "drafting": None, "all_steps": True}),
        # A line before the first throughput leaves the sum known.
        (EVERY.split("\n")[1] + "\n" + EVERY, None, {"drafts": 2000, "all_steps": True}),
        (EVERY.split("\n")[1], None, {"drafts": 1000, "all_steps": False, "timed": None}),
        (LOOKUP, None, OF_LOOKUP | {"block_efficiency": pytest.approx(1.1)}),
        (json.dumps(LOOKUP_BENCH), None, OF_LOOKUP | {"block_efficiency": pytest.approx(1.1)}),
        (json.dumps(CUT), None, {"drafts": 1500, "drafting": None, "all_steps": False}),
        (vllm_page(1500, (450, 300, 150)) + vllm_times(seconds=5.0, emitted=10_000, requests=100),
         None, OF_LOOKUP),
        (vllm_page(1500, (450, 300, 150)), None, {"drafts": 1500, "all_steps": False}),
    ],
)  # fmt: skip
def test_a_log_and_a_lookup_are_read(
    saved, text: str, gamma: int | None, read: dict[str, Any]
) -> None:
    found = saved(text, gamma=gamma)
    assert {name: getattr(found, name) for name in read} == read


def test_a_batch_takes_the_median_of_its_steady_lines(saved) -> None:
    """The first line may cover the start; a line between batches, or after a pause, has none."""
    further = decoded(16, 2.5, 900.0) + "".join(decoded(16, 2.6, 3200.0) for _ in range(2))
    idle = decoded(0, 2.5, 1.0) + decoded(16, 2.5, 5.0)
    timed = saved(ARGUMENTS.format(topk=1) + STEADY + further + idle).timed
    rows = {row.batch: row for row in by_batch(lines_of(timed))}
    assert [(row.batch, row.lines) for row in rows.values()] == [(6, 3), (16, 2)]
    assert rows[6].seconds_per_token == pytest.approx(6 / 1200)
    assert rows[16].tokens_per_second == pytest.approx(3200)
    assert rows[16].length == pytest.approx(2.6)
    assert timed.batch == 6
    assert timed.seconds_per_token == pytest.approx(6 / 1200)


def test_several_engines_and_logs_are_not_mixed(saved) -> None:
    lines = [decoded(4, 2.4, 800.0, " DP0 TP0"), decoded(16, 2.4, 2400.0, " DP1 TP0")] * 2
    once = ARGUMENTS.format(topk=1) + "".join(lines)
    alone, twice = saved(once), saved(once, once)
    assert [row.batch for row in by_batch(lines_of(alone.timed))] == [4, 16]
    assert len(lines_of(twice.timed)) == 8
    since = twice.since(alone)
    assert since.drafts == alone.drafts
    assert lines_of(since.timed) == lines_of(alone.timed)


def test_a_lone_line_counts_with_the_requests_at_its_end(saved) -> None:
    timed = saved(ARGUMENTS.format(topk=1) + decoded(5, 2.4, 1000.0)).timed
    assert (timed.batch, timed.seconds_per_token) == (5, pytest.approx(5e-3))


def test_trees_of_sglang_are_named(saved) -> None:
    (note,) = saved(ARGUMENTS.format(topk=4) + STEADY).notes
    assert "SGLang drafted trees" in note


def test_an_answer_counts_the_steps_that_did_not_draft() -> None:
    """43 of 90 steps drafted: 10 accepted tokens, 90 of the target's own, 1 of the prompt."""
    counted = vllm_answer([0] * 39 + [1] + [3] * 3, [3] * 43, 3, detailed=False)
    found = read_answer({**counted, "usage": {"completion_tokens": 101}}, None)
    assert (found.drafts, found.drafting, found.all_steps) == (90, 43, True)
    (request,) = found.requests
    assert request.drafts == 90
    assert not read_answer(counted, None).all_steps


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (STEADY, "`gamma` must be given where a log lacks speculative_num_steps, got none"),
        (STEADY.replace("accept len: 2.4, ", ""), "a log of SGLang must have lines 'Decode batch … "
         "accept len: …', got 4 without accept len: speculation is off"),
    ],
)  # fmt: skip
def test_a_log_without_drafts_is_refused(saved, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        saved(text)


def test_counts_that_change_keep_the_steps_that_drafted() -> None:
    first, second = Counts(100, 30, 10).over_all_steps(300), Counts(200, 60, 20)
    assert (first.drafts, first.drafting) == (290, 100)
    both = first + second
    assert (both.drafts, both.drafting) == (490, 300)
    assert both.since(second) == first
