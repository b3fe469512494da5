"""Limits of captured graphs, and flags that know what they export."""

import json
import shlex
from pathlib import Path

import pytest

from engines.kind import engine_kinds
from tests.specplan.plan_inputs import run, run_json

CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
HEAD = (
    f"--target-config {CONFIGS}/llama-3.1-8b.json --draft-config {CONFIGS}/llama-3.1-8b-eagle3.json"
)
MODEL = f"--target-config {CONFIGS}/llama-3.1-8b.json --draft-config {CONFIGS}/llama-3.2-1b.json"
VLLM = f"{HEAD} --gpu h100 --engine vllm --alpha 0.95"
RUNS = "--run gamma=0,tpot=7.1,batch=128 --run gamma=3,tpot=3.9,length=2.6,batch=128"


def schedule_of(flags: str) -> list[list[int]]:
    """Returns vLLM's ranges of batch sizes, or its number for all."""
    config = json.loads(shlex.split(flags, comments=True)[1])
    return config.get("num_speculative_tokens_per_batch_size", config["num_speculative_tokens"])


@pytest.mark.parametrize(("name", "unit", "most"), [
    ("vllm", "tokens", 512), ("sglang", "requests", 256), ("tensorrt-llm", "requests", 128),
])  # fmt: skip
def test_engines_state_their_limit_with_unit_flag_and_source(
    name: str, unit: str, most: int
) -> None:
    wall = engine_kinds()[name].wall
    assert wall is not None
    assert (wall.unit, wall.most) == (unit, most)
    assert wall.flag
    assert ".py" in wall.read_in
    assert engine_kinds()["llama.cpp"].wall is engine_kinds()["transformers"].wall is None


def test_no_advised_step_is_beyond_the_captured_graphs() -> None:
    plan = run_json(f"{VLLM} --batch 128")
    assert [row["beyond_graphs"] for row in plan["curve"]] == [g > 3 for g in range(1, 33)]
    assert 0 < plan["advised_gamma"] <= 3
    free = run_json(f"{VLLM} --batch 128 --graph-tokens 0")
    assert free["advised_gamma"] > 3
    assert not any(row["beyond_graphs"] for row in free["curve"])


def test_eager_is_compared_with_eager() -> None:
    plan = run_json(f"{VLLM} --batch 8 --graph-tokens 4")
    assert plan["advised_gamma"] == run_json(f"{VLLM} --batch 8 --graph-tokens 0")["advised_gamma"]
    assert all(row["beyond_graphs"] for row in plan["curve"])
    assert (
        "Even the baseline's step of 8 tokens" in run(f"{VLLM} --batch 8 --graph-tokens 4").stdout
    )


def test_a_limit_in_requests_does_not_depend_on_gamma() -> None:
    asked = f"{VLLM} --batch 300".replace("vllm", "sglang")
    plan = run_json(asked)
    assert all(row["beyond_graphs"] for row in plan["curve"])
    assert plan["advised_gamma"] == run_json(f"{asked} --graph-requests 0")["advised_gamma"]


def test_a_run_beyond_the_graphs_is_named_and_left_out_of_the_costs() -> None:
    beyond = "--run gamma=5,tpot=11.5,length=3,batch=128"
    with_it = run(f"{RUNS} {beyond} --export vllm --json")
    assert "the run of gamma 5 at batch 128 is left out" in " ".join(with_it.stderr.split())
    assert "768 tokens a step are more than the 512" in " ".join(with_it.stderr.split())
    plan = json.loads(with_it.stdout)
    assert plan["cost"]["evidence"] == 2
    assert plan["advised_gamma"] <= 3


def test_flags_of_an_undecided_draft_are_commented_out() -> None:
    asked = f"{MODEL} --gpu h100 --engine vllm --alpha 0.8"
    plan = run_json(asked)
    assert (plan["advised_gamma"], plan["test_gamma"] > 0) == (0, True)
    flags = run(f"{asked} --export vllm").stdout.splitlines()
    assert all(line.startswith("#") for line in flags)
    assert f'"num_speculative_tokens": {plan["test_gamma"]}' in flags[-1]
    assert "Undecided (" in run(asked).stdout
    assert "not speculate" not in run(asked).stdout
    # A run of it decides.
    decided = run_json(f"{asked} --run gamma=0,tpot=7 --run gamma=4,tpot=5,length=3.2")
    assert (decided["advised_gamma"] > 0, decided["test_gamma"]) == (True, None)


def test_a_schedule_restricted_to_one_gamma_is_the_one_that_is_printed() -> None:
    asked = f"{VLLM} --batch 1,16,64,128,256 --gamma 3"
    printed = run_json(asked)["schedule"]
    assert {each["gamma"] for each in printed} == {0, 3}
    flags = run(f"{asked} --export vllm").stdout
    # 1 takes the place of 0, with a comment.
    assert schedule_of(flags) == [
        [each["first_batch"], each["last_batch"], max(each["gamma"], 1)] for each in printed
    ]
    assert "even K = 1" not in flags
