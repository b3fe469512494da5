"""`observe` without a cost: plans from the time of a token in a source."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from metrics_pages import BENCH, vllm_page, vllm_times

from specplan.main import main


def observe(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["observe", *arguments])


def test_the_time_of_a_token_in_an_interval_is_planned_from(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.write_text(
        vllm_page(1000, (700, 500)) + vllm_times(seconds=90.0, emitted=4000, requests=8)
    )
    after.write_text(
        vllm_page(1100, (760, 540)) + vllm_times(seconds=91.0, emitted=4202, requests=10)
    )
    asked = [str(after), "--since", str(before)]
    data = json.loads(observe(*asked, "--json").stdout)
    assert data["ms_per_token"] == pytest.approx(1e3 * 1.0 / 200)
    assert data["plan"]["cost"] == {"kind": "runs", "evidence": 1, "model": None, "source": None}
    assert data["plan"]["curve"][1]["ms_per_token"] == pytest.approx(5.0, rel=0.02)
    text = observe(*asked).stdout
    assert "A token took 5.00 ms" in text
    assert "Next: run K = 0" in text
    assert "specplan plan --run gamma=2,tpot=5,rates=0.6/0.4 --run" in " ".join(text.split())


def test_a_bench_is_planned_from_as_a_run_of_plan_is(tmp_path: Path) -> None:
    bench = tmp_path / "bench.json"
    bench.write_text(BENCH)
    seen = json.loads(observe(str(bench), "--max-gamma", "6", "--json").stdout)["plan"]
    run = f"file={bench}"
    planned = CliRunner().invoke(main, ["plan", "--run", run, "--max-gamma", "6", "--json"])
    plan = json.loads(planned.stdout)
    assert len(seen["curve"]) == 6
    assert seen["baseline_ms_per_token"] == pytest.approx(plan["baseline_ms_per_token"])
    # Positions are printed with the length, and agree with it.
    assert seen["next_run"].keys() == plan["next_run"].keys()
    assert seen["curve"][2]["improvement_factor"] == pytest.approx(
        plan["curve"][2]["improvement_factor"], rel=0.02
    )
    stated = json.loads(observe(str(bench), "--c", "0.05", "--json").stdout)
    assert stated["plan"].get("cost") != seen["cost"]


def test_a_time_that_is_none_of_a_server_is_told_and_not_planned_from(tmp_path: Path) -> None:
    bench = tmp_path / "bench.json"
    bench.write_text(BENCH.replace("5.0", "5000.0"))
    result = observe(str(bench), "--json")
    assert "plan" not in json.loads(result.stdout)
    assert "nothing is planned: tpot must lie in" in result.stderr


def test_a_run_that_counts_calls_replaces_a_log_that_does_not(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(5 * "draft acceptance rate = 0.61000 (  305 accepted /   500 generated)\n")
    runs = ["--run", "gamma=0,tps=60", "--run", "gamma=8,tps=78,accepted=305/500,tokens=455"]
    curve = json.loads(observe(str(log), "--gamma", "8", *runs, "--json").stdout)["plan"]["curve"]
    tokens = [point["expected_tokens"] for point in curve]
    assert tokens == sorted(tokens)
    assert tokens[7] == pytest.approx(455 / 150)


def test_a_run_takes_the_length_of_the_log_at_its_gamma(tmp_path: Path) -> None:
    page = tmp_path / "page"
    page.write_text(vllm_page(1000, (700, 500)))
    runs = ["--run", "gamma=0,tpot=7", "--run", "gamma=2,tpot=4"]
    bare = json.loads(observe(str(page), *runs, "--json").stdout)["plan"]
    runs[-1] += ",rates=0.7/0.5"
    stated = json.loads(observe(str(page), *runs, "--json").stdout)["plan"]
    assert bare["improvement_factor"] == pytest.approx(stated["improvement_factor"], rel=0.02)
    assert bare["cost"] == stated["cost"]
    refused = observe(str(page), "--run", "gamma=0,tpot=7", "--run", "gamma=4,tpot=4").stderr
    assert "length must be given with --run gamma=4" in refused
