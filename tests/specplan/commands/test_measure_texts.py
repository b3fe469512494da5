"""`specplan measure --texts`: a profile from a log, which plans read."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from plan_inputs import run_json
from refusals import assert_refused

from specplan.main import main

# One of four tokens of each output is new; "lookup" has the others.
LINES = [{"prompt": [1, 2, 3, number], "output": [1, 2, 3, number] * 5} for number in range(10, 20)]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return path


def measured(*words: str) -> list[str]:
    return ["measure", "--texts", *words, "--processes", "1"]


def test_a_profile_of_texts_is_planned_at_a_stated_cost(log: Path, tmp_path: Path) -> None:
    profile = tmp_path / "profile.json"
    result = CliRunner().invoke(main, measured(str(log), "--draft", "lookup", "-o", str(profile)))
    assert result.exit_code == 0, result.output
    assert "alpha   0.9500" in result.stdout  # the first token of an output follows a new one
    assert "over 200 tokens of 10 texts" in result.stdout
    plan = run_json(f"--profile {profile} --c 0")
    assert plan["alpha"] == pytest.approx(0.95)
    assert plan["acceptance"]["kind"] == "replay"
    assert plan["optimal_gamma"] > 4
    result = CliRunner().invoke(main, ["plan", "--profile", str(profile)])
    assert_refused(result, "must hold costs, got only acceptance")


def test_suffixes_are_exported_as_vllm_names_them(log: Path, tmp_path: Path) -> None:
    profile = tmp_path / "profile.json"
    words = measured(str(log), "--draft", "suffix:12", "-o", str(profile), "--json")
    result = CliRunner().invoke(main, words)
    assert json.loads(result.stdout)["draftings"]["argmax"]["blocks"]["16"]
    flags = run_json(f"--profile {profile} --c 0 --gamma 5 --export vllm")["export"]
    assert '"method": "suffix", "num_speculative_tokens": 5' in flags
    assert '"suffix_decoding_max_tree_depth": 12' in flags


def test_a_bad_line_ends_it_unless_such_are_left_out(log: Path) -> None:
    log.write_text("{\n" + log.read_text())
    words = measured(str(log), "--draft", "lookup")
    assert_refused(CliRunner().invoke(main, words), "line 1: must be a JSON object")
    result = CliRunner().invoke(main, [*words, "--skip-bad-lines"])
    assert result.exit_code == 0
    assert "1 lines left out, the first:" in result.stderr


def test_a_lookup_is_planned_with_a_least_match(log: Path, tmp_path: Path) -> None:
    profile = tmp_path / "profile.json"
    CliRunner().invoke(main, measured(str(log), "--draft", "lookup", "-o", str(profile)))
    options = f"--profile {profile} --target-ms 10 --draft-ms 0 --verify-ms 17=40 --p-min"
    plan = run_json(f"{options} auto")
    assert plan["stopping_rule"]["name"] == "match"
    assert sorted({point["p_min"] for point in plan["curve"]}) == [0, 2, 3]
    text = CliRunner().invoke(main, ["plan", *f"{options} 2,3".split()]).stdout
    assert text.startswith("Lookups on recorded texts: nothing is drafted where fewer tokens match")
    assert "with least match 2" in text
    for more in ("--export vllm", "--stopping-rule product"):
        refused = CliRunner().invoke(main, ["plan", *f"{options} auto {more}".split()])
        assert_refused(refused, "for flags measure --draft lookup:vllm:MIN-MAX")
    refused = CliRunner().invoke(main, ["plan", *f"{options} 0.3".split()])
    assert_refused(refused, "must be auto or numbers of matched tokens, of 1, 2, 3, got '0.3'")
