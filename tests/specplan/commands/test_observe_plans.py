"""`observe` plans from the time of a token, and prints the flags of the advised K."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from specplan.main import main
from tests.engines.metrics_pages import BENCH, LOG, vllm_page, vllm_times
from tests.specplan.refusals import assert_refused

CONFIGS = Path(__file__).parents[3] / "docs" / "configs"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def observe(*arguments: str) -> Result:
    return run("observe", *arguments)


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


def test_an_impossible_time_of_a_server_is_named_and_not_used(tmp_path: Path) -> None:
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


@pytest.fixture
def page(tmp_path: Path) -> str:
    """A server that drafted 3 tokens, 1,000 times."""
    path = tmp_path / "page"
    path.write_text(vllm_page(1000, (800, 640, 512)))
    return str(path)


@pytest.mark.parametrize(
    ("server", "kind", "flag"),
    [("vllm", "eagle3", '"method": "eagle3"'), ("vllm", "suffix", '"method": "suffix"'),
     ("sglang", "eagle3", "--speculative-algorithm EAGLE3"),
     ("llama.cpp", "draft-model", "--spec-draft-n-max")],
)  # fmt: skip
def test_only_the_flags_of_the_advised_gamma_are_printed(
    page: str, server: str, kind: str, flag: str
) -> None:
    asked = ["observe", page, "--c", "0.05", "--max-gamma", "3", "--export", server]
    asked += ["--draft-kind", kind]
    data = json.loads(run(*asked, "--json").stdout)
    lines = run(*asked).stdout.splitlines()
    assert lines == data["export"].splitlines()
    comments = [line for line in lines if line.startswith("# K =")]
    assert comments[0].startswith(
        f"# K = {data['plan']['advised_gamma']}: A gain over no speculation is"
    )
    assert not lines[-1].startswith("#")
    assert flag in lines[-1]
    # The flags of `plan` for the counts.
    rates = ["--acceptance-by-position", "0.8,0.64,0.512", "--c", "0.05", "--max-gamma", "3"]
    planned = run("plan", *rates, "--export", server, "--draft-kind", kind).stdout
    assert lines[-1] == planned.splitlines()[-1]


def test_flags_of_an_undecided_kind_are_comments(page: str) -> None:
    models = [f"--{role}-config={CONFIGS / name}.json" for role, name in
              (("target", "llama-3.1-8b"), ("draft", "llama-3.2-1b"))]  # fmt: skip
    asked = ["observe", page, *models, "--gpu", "h100", "--engine", "vllm"]
    plan = json.loads(run(*asked, "--json").stdout)["plan"]
    assert plan["advised_gamma"] == 0 < plan["test_gamma"]
    lines = run(*asked, "--export", "vllm").stdout.splitlines()
    assert lines[0].startswith("# Undecided: run K = ")
    assert all(line.startswith("# ") for line in lines)
    assert f'"num_speculative_tokens": {plan["test_gamma"]}' in lines[-1]


def test_an_export_and_a_profile_are_both_written(page: str, tmp_path: Path) -> None:
    asked = ["--c", "0.05", "--export", "vllm", "--draft-kind", "mtp"]
    result = run("observe", page, *asked, "-o", str(tmp_path / "profile.json"))
    assert (tmp_path / "profile.json").exists()
    assert result.stdout == run("observe", page, *asked).stdout


def test_an_export_without_a_plan_is_refused(page: str, tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_text(LOG)
    assert_refused(run("observe", str(log), "--export", "vllm"), "--export needs a cost")
    assert_refused(
        run("observe", page, "--c", "0.05", "--export", "vllm", "--follow"),
        "--export cannot be given with --follow",
    )


@pytest.mark.parametrize(
    ("draft_ms", "words"),
    [
        (
            "0.5",
            "Keep K = 4, which the server runs: it beats K = 3, the next best, with a ",
        ),
        ("1.5", "The server runs K = 4. K = 2 is faster, with a probability of "),
    ],
)
def test_the_k_that_the_server_runs_is_kept_or_changed_with_its_odds(
    draft_ms: str, words: str
) -> None:
    source = str(CONFIGS.parent / "examples" / "answers.jsonl")
    shown = [source, "--gamma", "4", "--target-ms", "5.67", "--draft-ms", draft_ms]
    data = json.loads(observe(*shown, "--json").stdout)
    assert data["sentence"].startswith(words)
    assert data["sentence"] in " ".join(observe(*shown).stdout.split())
    factors = [point["improvement_factor"] for point in data["plan"]["curve"]]
    assert f"({max(factors):.2f} against " in data["sentence"]
