"""A server without a draft is the same whichever draft it is compared with."""

from pathlib import Path
from typing import Any

import pytest

from tests.specplan.plan_inputs import run_json

CONFIGS = Path(__file__).parents[2] / "docs" / "configs"
TARGET = f"--target-config {CONFIGS / 'llama-3.3-70b.json'}"
DRAFTS = [CONFIGS / f"{name}.json" for name in ("llama-3.3-70b-eagle3", "llama-3.2-1b")]
SERVED = f"{TARGET} --gpu h100 --dtype fp8"
LOAD = "--prompt-tokens 1000 --output-tokens 300"
pytestmark = pytest.mark.usefixtures("few_requests")


@pytest.mark.parametrize("engine", ["--engine vllm", "--engine sglang", "--cost-model public"])
def test_plan_has_one_time_without_a_draft(engine: str, kernel_tables: None) -> None:
    plans = [
        run_json(f"{SERVED} --tp 4 --batch 8 {engine} --draft-config {draft} --alpha 0.7")
        for draft in DRAFTS
    ]
    eagle, model = (plan["baseline_ms_per_token"] for plan in plans)
    assert eagle == model


def test_a_draft_without_kernels_leaves_the_time_without_it(kernel_tables: None) -> None:
    given = f"{SERVED} --tp 4 --engine vllm --draft-config {DRAFTS[1]} --alpha 0.7"
    covered, other = (run_json(f"{given} {dtype}") for dtype in ("", "--draft-dtype int4"))
    assert [plan["cost"]["model"] for plan in (covered, other)] == ["kernels", "public"]
    assert covered["baseline_ms_per_token"] == other["baseline_ms_per_token"]


def test_traffic_has_one_server_without_a_draft() -> None:
    """Its memory holds no draft, and its prompts are read by the target only."""
    given = f"{SERVED} --tp 2 --engine vllm {LOAD} --rate 2 --alpha 0.7 --max-gamma 2 --slots 64"
    answers = [run_json(f"{given} --draft-config {draft}", "traffic") for draft in DRAFTS]
    eagle, model = ([row for row in answer["rows"] if not row["speculation"]] for answer in answers)
    assert eagle == model
    most = [answer["most_requests_per_second_without"] for answer in answers]
    assert most[0] == most[1]


def test_size_counts_one_number_of_gpus_without_a_draft() -> None:
    given = f"{SERVED} --gpus-per-replica 4 --max-gamma 2 --engine vllm {LOAD} --rate 10"
    given += " --slo ttft=500,tpot=30"
    eagle, model = (f"--draft config={draft},alpha=0.7" for draft in DRAFTS)
    bare: list[dict[str, Any]] = []
    for drafts in (eagle, model, f"{eagle} {model}"):
        without = run_json(f"{given} {drafts}", "size")["best_without"]
        bare.append({**without, "draft": None})
    assert bare[0] == bare[1] == bare[2]


def test_a_draft_that_does_not_fit_leaves_the_target_without_it() -> None:
    target = f"--target-config {CONFIGS / 'qwen3-32b.json'}"
    draft = CONFIGS / "qwen3-14b.json"
    given = f"{target} --gpu h100 --gpus-per-replica 1 --engine vllm {LOAD} --rate 0.5"
    sizing = run_json(f"{given} --slo ttft=900,tpot=60 --draft config={draft},alpha=0.7", "size")
    assert sizing["best"]["gamma"] == 0
    assert "qwen3-14b does not fit on 1 × h100-sxm" in " ".join(sizing["notes"])
