"""`specplan size` with mixtures of experts: how GPUs share them, and drafts beyond observations."""

from pathlib import Path

import pytest

from tests.specplan.plan_inputs import run, run_json

CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
DENSE, MIXTURE = CONFIGS / "llama-3.1-8b.json", CONFIGS / "deepseek-v3.json"
pytestmark = pytest.mark.usefixtures("few_requests")

LOAD = "--rate 40 --prompt-tokens 1000 --output-tokens 300 --slo ttft=500,tpot=30"
MTP = f"--target-config {MIXTURE} --draft config={MIXTURE},rates=0.85/0.7,name=MTP --gpu b200"


def test_groups_of_gpus_are_searched_for_a_mixture() -> None:
    sizing = run_json(f"{LOAD} {MTP} --gpus-per-replica 8", "size")
    ways = {(each["tp"], each["dp"], each["ep"]) for each in sizing["candidates"]}
    assert ways == {(8, 1, 1), (1, 8, 8)}
    only = run_json(f"{LOAD} {MTP} --gpus-per-replica 8 --dp 1", "size")
    assert only["best"]["dp"] == 1
    assert sizing["best"]["gpus"] <= only["best"]["gpus"]


def test_no_draft_is_longer_than_two_more_than_observed() -> None:
    load = LOAD.replace("tpot=30", "tpot=60")
    sizing = run_json(f"{load} {MTP} --gpus-per-replica 8", "size")
    assert max(point["gamma"] for point in sizing["pareto"]) == 4


def test_flags_limit_each_group_of_gpus() -> None:
    shown = run(f"{LOAD} {MTP} --gpus-per-replica 8 --dp 8 --ep 8 --export vllm", "size")
    assert shown.exit_code == 0, shown.output
    flags = shown.output.split()
    assert {"--enable-expert-parallel", "--data-parallel-size"} <= set(flags)
    assert flags[flags.index("--max-num-batched-tokens") + 1] == "2048"
    assert int(flags[flags.index("--max-num-seqs") + 1]) <= 256 / 8


_DIVIDE = "--dp and --ep must divide --gpus-per-replica, got none that does"


@pytest.mark.parametrize(
    ("sharing", "message"),
    [
        ("--dp 3", _DIVIDE),
        ("--ep 3", _DIVIDE),
        ("--dp 0", "dp must be at least 1, got 0"),
        ("--ep x", "'x' is not an integer"),
    ],
)
def test_groups_that_do_not_divide_a_replica_are_refused(sharing: str, message: str) -> None:
    shown = run(f"{LOAD} {MTP} --gpus-per-replica 8 {sharing}", "size")
    assert shown.exit_code == 2, shown.output
    assert message in " ".join(shown.output.split())
