"""Files that AIPerf 0.13.0 and GuideLLM 0.8.1 wrote, of a server that answers as vLLM does.

Six requests of 40 tokens, two at once. Keys that are not read were left out afterwards.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from engines.observing.by_batch import by_batch, lines_of
from engines.sources import observe

FILES = Path(__file__).parent / "files"
RECORDS, TOTALS, GUIDELLM = (
    FILES / name for name in ("aiperf-0.13.0.jsonl", "aiperf-0.13.0.json", "guidellm-0.8.1.json")
)


def test_aiperf_requests_add_up_to_its_aggregate() -> None:
    records, totals = (observe([str(each)], gamma=None) for each in (RECORDS, TOTALS))
    stated = json.loads(TOTALS.read_text())
    for found in (records, totals):
        assert (found.kind, found.origin, found.gamma) == ("vllm", "bench", 3)
        assert (found.drafts, found.drafted, found.accepted) == (89, 267, 156)
        assert found.hits == (71, 50, 35)
        mean = stated["spec_decode_token_weighted_acceptance_length"]["avg"]
        assert found.block_efficiency == pytest.approx(mean)
    assert len(records.requests) == 6
    assert records.timed.tokens == totals.timed.tokens == 6 * 39
    assert totals.timed.batch == 2
    latency = stated["inter_token_latency"]["avg"]
    assert 1e3 * totals.timed.seconds_per_token == pytest.approx(latency)
    # AIPerf divides by the tokens that it counts itself, 41 for the 40 of the server.
    assert 1e3 * records.timed.seconds_per_token == pytest.approx(latency * 40 / 39)


def test_guidellm_has_requests_and_times_by_batch() -> None:
    found = observe([str(GUIDELLM)], gamma=None)
    (benchmark,) = json.loads(GUIDELLM.read_text())["benchmarks"]
    assert (found.kind, found.origin, found.gamma, len(found.requests)) == ("vllm", "bench", 3, 6)
    assert found.accepted == sum(request.accepted for request in found.requests)
    latency = benchmark["metrics"]["inter_token_latency_ms"]["successful"]["mean"]
    assert (found.timed.batch, 1e3 * found.timed.seconds_per_token) == (2, pytest.approx(latency))


def test_several_benchmarks_of_guidellm_are_times_by_batch(saved) -> None:
    report = json.loads(GUIDELLM.read_text())
    further = json.loads(json.dumps(report["benchmarks"][0]))
    further["config"]["strategy"]["max_concurrency"] = 8
    report["benchmarks"].append(further)
    found = saved(json.dumps(report))
    assert [each.batch for each in by_batch(lines_of(found.timed))] == [2, 8]
    assert len(found.requests) == 12


def edited(path: Path, *names: str) -> dict[str, Any]:
    """Returns the first JSON object of a file without these keys."""
    found: dict[str, Any] = json.JSONDecoder().raw_decode(path.read_text())[0]
    for name in names:
        del found[name]
    return found


def without_metrics() -> dict[str, Any]:
    report = edited(GUIDELLM)
    for request in report["benchmarks"][0]["requests"]["successful"]:
        request["response_metrics"] = None
    return report


PLAIN_TOTALS = edited(TOTALS, "pooled_spec_decode_acceptance_histogram")
OTHER_TOTALS = edited(TOTALS) | {"pooled_spec_decode_acceptance_histogram": {"0": 18}}
LISTED = edited(TOTALS) | {"pooled_spec_decode_acceptance_histogram": [18]}


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (PLAIN_TOTALS, "an aggregate of AIPerf must have pooled_spec_decode_acceptance_histogram"),
        (OTHER_TOTALS, "acceptance_histogram must have 89 steps with 156 accepted tokens, got"),
        (LISTED, "acceptance_histogram must be an object, got"),
        (without_metrics(), "a report of GuideLLM must have requests with response_metrics"),
        ({"spec_decode_acceptance": None}, "a record of AIPerf must have spec_decode_acceptance"),
    ],
)
def test_a_file_without_counts_is_refused(saved, found: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        saved(json.dumps(found))


@pytest.mark.parametrize("found", [PLAIN_TOTALS, without_metrics()])
def test_a_baseline_needs_no_counts(saved, found: dict[str, Any]) -> None:
    plain = saved(json.dumps(found), gamma=0)
    assert plain.drafts == 0
    assert plain.timed.batch == 2
