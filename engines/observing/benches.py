"""Reads counts and times of servers from other benchmarks: AIPerf, genai-perf and GuideLLM."""

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

from engines.counting import Timed, times
from engines.observing.by_batch import LogInterval, LogTimes
from engines.observing.observation import Observation
from engines.observing.printed import number, whole_number
from engines.observing.vllm import read_answer

_COUNTED = "--per-request-spec-decode-metrics of vLLM turns it on"


def read_aiperf_record(record: Mapping[str, Any], gamma: int | None) -> Observation:
    """Returns the counts of one request, a line of AIPerf's `profile_export.jsonl`.

    gamma: drafted tokens per block, if the record does not state them; 0: no drafts.
    """
    printed, tokens = (
        record.get("spec_decode_acceptance"),
        _metric(record, "usage_completion_tokens"),
    )
    tokens = tokens or _metric(record, "output_sequence_length")
    # The time between the first token and the last.
    timed = times(_metric(record, "decode_duration") / 1e3, tokens - 1)
    if not isinstance(printed, Mapping):
        if gamma == 0:
            return Observation(kind="vllm", origin="bench", timed=timed)
        raise ValueError(
            f"a record of AIPerf must have spec_decode_acceptance, got none: {_COUNTED}"
        )
    counted = _counted(
        printed, printed.get("acceptance_histogram"), gamma, printed.get("num_spec_tokens")
    )
    return replace(counted.over_all_steps(tokens - 1), timed=timed).of_one_request()


def read_aiperf(result: Mapping[str, Any], gamma: int | None) -> Observation:
    """Returns the counts and times in AIPerf's aggregate, `profile_export_aiperf.json`.

    gamma: drafted tokens per block; None: the mean draft, rounded up. 0: no drafts.
    """
    tokens = _average(result, "total_usage_completion_tokens") or _average(result, "total_osl")
    emitted = round(tokens - _average(result, "request_count"))
    seconds = _average(result, "inter_token_latency") / 1e3 * emitted
    plain = Observation(kind="vllm", origin="bench", timed=times(seconds, emitted, _users(result)))
    histogram = result.get("pooled_spec_decode_acceptance_histogram")
    if histogram is None:
        if gamma == 0:
            return plain
        raise ValueError(
            "an aggregate of AIPerf must have pooled_spec_decode_acceptance_histogram, got none: "
            f"{_COUNTED}"
        )
    names = {
        "num_spec_steps": "total_spec_decode_steps",
        "num_draft_tokens": "total_draft_tokens",
        "num_accepted_draft_tokens": "total_accepted_draft_tokens",
    }
    totals = {name: round(_average(result, its)) for name, its in names.items()}
    counted = _counted(totals, histogram, gamma, None)
    return replace(counted.over_all_steps(emitted), timed=plain.timed)


def read_genai_perf(result: Mapping[str, Any], gamma: int | None) -> Observation:
    """Returns the times in `profile_export_genai_perf.json`, AIPerf's predecessor.

    gamma: must be 0, because genai-perf counts no drafts.
    """
    if gamma != 0:
        raise ValueError(
            "gamma must be 0 for a file of genai-perf, which counts no drafts, got "
            f"{gamma}: AIPerf counts them, or state gamma, tpot and length"
        )
    latency, users = result["inter_token_latency"], result["input_config"].get("concurrency")
    if latency.get("unit") != "ms":
        raise ValueError(f"inter_token_latency must be in ms, got {latency.get('unit')}")
    # The mean over requests stands for one request of mean length.
    tokens = max(1, round(_average(result, "output_sequence_length")) - 1)
    batch = users if isinstance(users, int) else None
    timed = times(number(latency, "avg") / 1e3 * tokens, tokens, batch)
    return Observation(kind="vllm", origin="bench", timed=timed)


def read_guidellm(report: Mapping[str, Any], gamma: int | None) -> Observation:
    """Returns the counts and times of a report of GuideLLM, its benchmarks by batch.

    gamma: drafted tokens per block as the user states it; 0: no drafts; None: not stated.
    """
    counted, intervals = list[Observation](), list[LogInterval]()
    benchmarks = report.get("benchmarks")
    for place, benchmark in enumerate(benchmarks if isinstance(benchmarks, list) else []):
        requests = benchmark["requests"]["successful"]
        answers = [_guidellm_answer(request) for request in requests]
        observations = [read_answer(answer, gamma) for answer in answers if answer["metrics"]]
        counted += observations
        latency = benchmark["metrics"]["inter_token_latency_ms"]["successful"]
        batch = benchmark["config"]["strategy"].get("max_concurrency")
        if number(latency, "mean") > 0 and isinstance(batch, int):
            length = reduce(add, observations).block_efficiency if observations else None
            speed = batch / latency["mean"] * 1e3
            intervals.append(LogInterval(str(place), batch, speed, length))
    timed: Timed | None = LogTimes.of(intervals)
    if counted:
        return replace(reduce(add, counted), origin="bench", timed=timed)
    if gamma == 0:
        return Observation(kind="vllm", origin="bench", timed=timed)
    raise ValueError(
        "a report of GuideLLM must have requests with response_metrics.speculative_decoding, got "
        f"none: {_COUNTED}"
    )


def _guidellm_answer(request: Mapping[str, Any]) -> dict[str, Any]:
    usage = {"completion_tokens": request.get("output_tokens")}
    return {"metrics": request.get("response_metrics"), "usage": usage}


def _counted(
    printed: Mapping[str, Any], histogram: Any, gamma: int | None, stated: int | None
) -> Observation:
    """Returns counts; histogram: number of steps by number of accepted tokens, as text."""
    names = ("num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens")
    steps, drafted, accepted = (whole_number(printed, name) for name in names)
    if not isinstance(histogram, Mapping):
        raise ValueError(f"acceptance_histogram must be an object, got {histogram!r}")
    taken = {int(hits): whole_number(histogram, hits) for hits in histogram}
    if sum(taken.values()) != steps or sum(j * n for j, n in taken.items()) != accepted:
        raise ValueError(
            f"acceptance_histogram must have {steps} steps with {accepted} accepted tokens, got "
            f"{taken}"
        )
    most = max(taken, default=0)
    by_position = tuple(
        sum(n for hits, n in taken.items() if hits >= at) for at in range(1, most + 1)
    )
    return Observation(
        kind="vllm",
        origin="bench",
        stated_gamma=stated if gamma is None else gamma,
        drafts=steps,
        drafted=drafted,
        accepted=accepted,
        by_position=by_position,
    )


def _users(result: Mapping[str, Any]) -> int | None:
    """Returns the number of simultaneous requests that a run of AIPerf states."""
    phases = (result.get("input_config") or {}).get("phases") or []
    users = {phase.get("concurrency") for phase in phases if phase.get("kind") == "profiling"}
    user = users.pop() if len(users) == 1 else None
    return user if isinstance(user, int) else None


def _metric(record: Mapping[str, Any], name: str) -> float:
    return number((record.get("metrics") or {}).get(name) or {}, "value")


def _average(result: Mapping[str, Any], name: str) -> float:
    return number(result.get(name) or {}, "avg")
