"""Counts, times and runs in files of TensorRT-LLM, MLX-VLM, genai-perf and sweeps of vLLM."""

import json
from pathlib import Path
from typing import Any

import pytest

from engines.counting import Timed
from engines.observing.sweeps import sweep_runs
from engines.sources import observe
from tests.engines.metrics_pages import BENCH
from tests.engines.web_server import web_server

# A page in a test of TensorRT-LLM's examples/llm-api/measure_dspark_acceptance_disagg.py (2026);
# the last four lines are named in tensorrt_llm/metrics/collector.py, commit 050f80def8df.
TENSORRT_LLM = """\
# TYPE trtllm_spec_decode_drafted_tokens counter
trtllm_spec_decode_drafted_tokens_total{token_position="0",worker="0"} 10
trtllm_spec_decode_drafted_tokens_total{token_position="0",worker="1"} 20
trtllm_spec_decode_drafted_tokens_total{token_position="1",worker="0"} 10
trtllm_spec_decode_drafted_tokens_total{token_position="1",worker="1"} 20
trtllm_spec_decode_drafted_tokens_total{token_position="2",worker="0"} 10
trtllm_spec_decode_drafted_tokens_total{token_position="2",worker="1"} 20
# TYPE trtllm_spec_decode_accepted_tokens counter
trtllm_spec_decode_accepted_tokens_total{token_position="0",worker="0"} 10
trtllm_spec_decode_accepted_tokens_total{token_position="0",worker="1"} 20
trtllm_spec_decode_accepted_tokens_total{token_position="1",worker="1"} 20
trtllm_spec_decode_accepted_tokens_total{token_position="2",worker="1"} 10
# TYPE trtllm_request_success counter
trtllm_request_success_total{finished_reason="stop",worker="0"} 1
trtllm_request_success_total{finished_reason="length",worker="1"} 1
trtllm_spec_decode_drafted_tokens_created{token_position="0"} 999
trtllm_iteration_num_accepted_draft_tokens{worker="0"} 999
"""
TENSORRT_LLM_TIMES = """\
# TYPE trtllm_generation_tokens counter
trtllm_generation_tokens_total{worker="0"} 102
# TYPE trtllm_time_to_first_token_seconds histogram
trtllm_time_to_first_token_seconds_count{worker="0"} 2
# TYPE trtllm_request_decode_time_seconds histogram
trtllm_request_decode_time_seconds_sum{worker="0"} 0.5
"""
# `GenerationTimings` of mlx_vlm/server/schemas.py with the values of
# test_generation_timings_include_speculative_stats in mlx_vlm/tests/test_server.py; MLX-VLM 0.6.15,
# commit 9b13f522a7f1.
MLX_VLM: dict[str, Any] = {
    "model": "M",
    "timings": {
        "prompt_n": 10, "cache_n": 0, "predicted_n": 17, "prompt_ms": 500.0,
        "prompt_per_token_ms": 50.0, "prompt_per_second": 20.0, "predicted_ms": 2125.0,
        "predicted_per_token_ms": 125.0, "predicted_per_second": 8.0, "peak_memory": 0.0,
        "draft_kind": "mtp", "draft_rounds": 5, "draft_n": 20, "draft_n_accepted": 12,
    },
}  # fmt: skip
PLAIN_MLX_VLM = {
    "timings": MLX_VLM["timings"]
    | dict.fromkeys(["draft_kind", "draft_rounds", "draft_n", "draft_n_accepted"])
}
# Parts of profile_export_genai_perf.json as issue 298 of triton-inference-server/perf_analyzer
# shows it (24.12).
GENAI_PERF: dict[str, Any] = {
    "request_throughput": {"unit": "requests/sec", "avg": 17.222547659562533},
    "inter_token_latency": {"unit": "ms", "avg": 2.1767344516666665, "p50": 2.1787205},
    "output_sequence_length": {"unit": "tokens", "avg": 2565.855},
    "input_config": {"subcommand": "profile", "backend": "tensorrtllm", "concurrency": 100},
}


# Parts of results/b200_dsr_fp8/b200_dsr_fp8_mtp3_ep1_tp8/dar_report_fp8_mtp3_ep1_reasoning.json in
# zufayu/ClaudeSkillsE2EPerf at commit c45855d85c24, which trtllm-bench 1.2 wrote: DeepSeek-R1 with
# three tokens of multi-token prediction on eight B200.
TRTLLM_BENCH: dict[str, Any] = {
    "engine": {"model": "/home/models/models--DeepSeek-R1-0528", "version": "1.2"},
    "request_info": {"num_requests": 200, "avg_output_length": 8192.0},
    "decoding_stats": {
        "mode": "MTP",
        "num_draft_tokens_percentiles": {"p50": 7686.0, "average": 7755.45},
        "num_accepted_draft_tokens_percentiles": {"p50": 5634.0, "average": 5606.85},
        "draft_acceptance_rate_percentiles": {"average": 0.7380184262277959},
        "acceptance_length_percentiles": {"average": 3.2140552786833876},
    },
}


def sweep(*, k: int, batch: int, tpot: float, schedule: str | None = None) -> dict[str, Any]:
    """Returns a record of a sweep at draft length k of at most 3, which the schedule sets.

    vllm/benchmarks/sweep/serve.py at commit 0031557f20f5 adds `run_number` and the settings to the
    result of `vllm bench serve`, which has no counts if nothing was drafted.
    """
    found = json.loads(BENCH) | {"run_number": 0, "max_concurrency": batch, "mean_tpot_ms": tpot}
    accepted = 120 + 60 * (k > 1) + 20 * (k > 2)
    counts = {
        "total_output_tokens": 8 + 200 + accepted,
        "spec_decode_draft_tokens": 200 * k,
        "spec_decode_accepted_tokens": accepted,
        "spec_decode_per_position_acceptance_rates": [0.6, 0.3 * (k > 1), 0.1 * (k > 2)],
    }
    kept = {name: value for name, value in found.items() if k or "spec_decode" not in name}
    return kept | (counts if k else {}) | ({} if schedule is None else {schedule: [[1, 8, k]]})


def test_tensorrt_llm_counts_by_position(saved) -> None:
    found = saved(TENSORRT_LLM)
    assert (found.kind, found.gamma, found.drafts, found.drafted) == ("tensorrt-llm", 3, 30, 90)
    assert found.hits == (30, 20, 10)
    assert found.block_efficiency == 3
    assert not found.all_steps


def test_tensorrt_llm_steps_without_drafts_count(saved) -> None:
    found = saved(TENSORRT_LLM + TENSORRT_LLM_TIMES)
    assert found.timed == Timed(0.5, 100)
    # 100 tokens after the prompts', 60 of them drafted.
    assert (found.drafts, found.drafting, found.all_steps) == (40, 30, True)
    assert saved(TENSORRT_LLM_TIMES, gamma=0).timed == Timed(0.5, 100)


def test_a_report_of_trtllm_bench_counts_blocks_after_the_prompt(saved) -> None:
    found = saved(json.dumps(TRTLLM_BENCH))
    assert (found.kind, found.origin, found.version) == ("tensorrt-llm", "bench", "1.2")
    # 8192 tokens in 2585.15 iterations of each request, the first of which reads the prompt.
    assert (found.gamma, found.drafts) == (3, round(200 * 2584.15))
    assert found.accepted == 200 * 5606.85
    assert found.block_efficiency == pytest.approx(8191 / 2584.15)
    with pytest.raises(ValueError, match=r"gamma must be .* drafted tokens per iteration, 3$"):
        saved(json.dumps(TRTLLM_BENCH), gamma=4)
    off = TRTLLM_BENCH | {"decoding_stats": {"mode": "MTP", "num_draft_tokens_percentiles": None}}
    with pytest.raises(ValueError, match="decoding_stats must have counts, got none"):
        saved(json.dumps(off))


def test_mlx_vlm_counts_rounds(saved) -> None:
    found = saved(json.dumps(MLX_VLM))
    assert (found.kind, found.origin, found.model, found.gamma) == ("mlx", "timings", "M", 4)
    assert (found.drafts, found.drafted, found.accepted) == (5, 20, 12)
    assert found.timed == Timed(2.125, 17, 1)
    assert len(found.requests) == 1
    assert saved(json.dumps(PLAIN_MLX_VLM), gamma=0).timed == Timed(2.125, 17, 1)


def test_genai_perf_is_a_baseline(saved) -> None:
    found = saved(json.dumps(GENAI_PERF), gamma=0)
    assert (found.drafts, found.timed.batch) == (0, 100)
    assert 1e3 * found.timed.seconds_per_token == pytest.approx(2.1767344516666665)


def test_a_sweep_is_a_run_for_each_length_and_batch(tmp_path: Path) -> None:
    schedule = "speculative_config.num_speculative_tokens_per_batch_size"
    records = {
        "off": [sweep(k=0, batch=1, tpot=10.0)],
        "zero": [sweep(k=0, batch=1, tpot=11.0, schedule=schedule)],
        "two": [sweep(k=2, batch=1, tpot=tpot, schedule=schedule) for tpot in (6.0, 6.2)],
        "many": [sweep(k=3, batch=8, tpot=9.0, schedule=schedule)],
    }
    for name, each in records.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "summary.json").write_text(json.dumps(each))
    runs = sweep_runs(tmp_path, context=512)
    assert {
        (run.gamma, run.load.batch, run.speculating): round(1e3 * run.seconds_per_token, 6)
        for run in runs
    } == {(0, 1, False): 10.0, (0, 1, True): 11.0, (2, 1, False): 6.1, (3, 8, False): 9.0}
    (two,) = (run for run in runs if run.gamma == 2)
    assert (two.length, two.rates, two.drafts) == (pytest.approx(1.9), (0.6, 0.3), 400)
    assert sweep_runs(tmp_path / "two" / "summary.json", context=512) == (two,)


# Columns of three runs, as `pandas.DataFrame.from_records(runs).to_csv` writes them in vLLM's
# vllm/benchmarks/sweep/serve.py (0.32.0, run_combs).
SUMMARY = """\
,run_number,max_concurrency,mean_tpot_ms,completed,total_output_tokens,\
speculative_config.num_speculative_tokens_per_batch_size,spec_decode_num_drafts,\
spec_decode_draft_tokens,spec_decode_accepted_tokens,spec_decode_per_position_acceptance_rates
0,0,1,10.0,8,408,,,,,
1,0,1,11.0,8,408,"[[1, 8, 0]]",,,,
2,0,1,6.0,8,388,"[[1, 8, 2]]",200.0,400.0,180.0,"[0.6, 0.3, 0.0]"
"""


def test_the_table_of_a_sweep_has_its_runs(tmp_path: Path) -> None:
    path = tmp_path / "summary.csv"
    path.write_text(SUMMARY)
    runs = sweep_runs(path, context=512)
    assert runs is not None
    times = [(run.gamma, run.speculating, round(run.seconds_per_token, 9)) for run in runs]
    assert times == [(0, False, 0.01), (0, True, 0.011), (2, False, 0.006)]
    assert (runs[2].length, runs[2].rates) == (pytest.approx(1.9), (0.6, 0.3))
    path.write_text("gamma,ms\n3,4\n")
    assert sweep_runs(path, context=512) is None


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (TENSORRT_LLM_TIMES, "metrics must have trtllm_spec_decode_drafted_tokens_total, got none"),
        (json.dumps(PLAIN_MLX_VLM), "timings must have draft_kind, got null: speculation is off"),
        (json.dumps(GENAI_PERF), "gamma must be 0 for a file of genai-perf, which counts no"),
        ('[{"n_prompt": 0, "n_gen": 128, "avg_ns": 5}]', "plan --costs FILE reads them"),
        ('[{"id": 0, "n_ctx": 256, "is_processing": false}]', "llama-server's slots have no"),
        ('{"elapsed_time": 3.0, "num_requests": 8}', "vllm bench throughput counts no drafts"),
        ('{"engine": {}, "decoding_stats": {}}', "a report of trtllm-bench must have request_info"),
    ],
)
def test_a_file_without_counts_is_refused_with_the_setting_that_counts(
    saved, found: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        saved(found)


def test_other_lists_are_no_sweep(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    path.write_text(BENCH)
    assert sweep_runs(path, context=512) is None
    with pytest.raises(ValueError, match=r"must have \*/summary.json of vllm bench sweep"):
        sweep_runs(tmp_path, context=512)


def test_a_server_is_read_at_the_page_of_its_engine() -> None:
    # /metrics of TensorRT-LLM is a list of the last iterations.
    pages = {"/metrics": "[]", "/prometheus/metrics": TENSORRT_LLM}
    with web_server(pages, lambda *_: (404, "")) as url:
        assert observe([url], gamma=None).drafts == 30
        assert observe([f"{url}/prometheus/metrics"], gamma=None).drafts == 30
    with (
        web_server({"/metrics": "[]"}, lambda *_: (404, "")) as url,
        pytest.raises(ValueError, match="TensorRT-LLM's or vLLM's, got none"),
    ):
        observe([url], gamma=None)
