"""`measure --batch` and `measure --texts`, and plans of their profiles."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from estimator.profiles.parts import Alpha, ContextAcceptance
from estimator.profiles.profile import LoadCosts
from estimator.profiles.profile_file import read_profile, write_profile
from simulator.acceptance.tokens import expected_tokens
from specplan.main import main
from tests.specplan.made_profiles import made_profile
from tests.specplan.plan_inputs import run_json
from tests.specplan.programs import Run, RunJson
from tests.specplan.refusals import assert_refused


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Returns a profile in which verifying is dear at batch 16."""
    profile = made_profile("small", alpha=0.8, c=0.1)
    loads = tuple(
        LoadCosts(
            batch, 128, {n: 10 * (1 + slope * (n - 1)) for n in (1, 2, 3, 5, 9)}, 1.0,
            {1: 1.0, 2: 2.0, 4: 4.0, 8: 8.0}, 3.0,
        )
        for batch, slope in ((1, 0.02), (4, 0.2), (16, 1.0))
    )  # fmt: skip
    write_profile(replace(profile, load=loads), tmp_path / "p.json")
    write_profile(profile, tmp_path / "bare.json")
    return str(tmp_path / "p.json")


def plan(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["plan", *arguments])


def test_measured_batches_give_a_schedule(path: str) -> None:
    data = json.loads(plan("--profile", path, "--batch", "1,4,16", "--json").stdout)
    gammas = [row["gamma_near"] for row in data["rows"]]
    assert gammas[0] > gammas[1] > gammas[2] == 0
    assert [row["batch"] for row in data["rows"]] == [1, 4, 16]
    assert {(row["context"], row["needed_gb"], row["fits"]) for row in data["rows"]} == {
        (128, None, True)
    }
    assert [(each["last_batch"], each["gamma"]) for each in data["schedule"]] == list(
        zip((1, 4, 16), gammas, strict=True)
    )
    table = plan("--profile", path, "--batch", "1,4,16").stdout
    assert "Costs measured on cpu." in table
    assert "Speculation stops paying beyond batch 4." in table
    exported = plan("--profile", path, "--batch", "1,4,16", "--export", "vllm").stdout
    assert "num_speculative_tokens_per_batch_size" in exported


def test_one_measured_batch_is_a_full_plan_without_a_spread(path: str) -> None:
    data = json.loads(plan("--profile", path, "--batch", "4", "--json").stdout)
    assert data["batch"] == 4
    profile = read_profile(Path(path))
    cost = profile.cost_of(profile.load[1])
    assert data["baseline_tokens_per_second"] == pytest.approx(4 / cost.baseline_seconds)
    assert data["tokens_per_second_low"] is data["tokens_per_second_high"] is None
    assert (
        "Costs measured on cpu, batch 4, context 128."
        in plan("--profile", path, "--batch", "4").stdout
    )


def test_missing_measurements_are_named_in_one_line(path: str) -> None:
    bare = path.replace("p.json", "bare.json")
    for arguments, message in [
        (("--profile", path, "--batch", "8"),
         "(1 at context 128, 4 at context 128, 16 at context 128), got 8 at context 128"),
        (("--profile", path, "--batch", "4", "--context", "64"), "got 4 at context 64"),
        (("--profile", path, "--batch", "4", "--c", "0.1"),
         "--c cannot be combined with --batch, which needs --target-config or --profile"),
        (("--profile", bare, "--batch", "4"), "profile must hold costs by batch"),
    ]:  # fmt: skip
        refused = plan(*arguments)
        assert (refused.exit_code, refused.stdout) == (2, ""), refused.output
        assert message in refused.stderr


def test_batches_are_measured_and_planned(
    run: Run, run_json: RunJson, small: list[str], tmp_path: Path
) -> None:
    output = str(tmp_path / "p.json")
    options = ["measure", *small, "--max-gamma", "2", "--repeats", "1", "--context", "16"]
    printed = run(*options, "--batch", "1,2,1", "-o", output)
    assert printed.exit_code == 0, printed.output
    assert "Context 16:" in printed.stdout
    profile = read_profile(Path(output))
    assert [load.batch for load in profile.load] == [1, 2]
    assert set(profile.load[0].target_ms) == {1, 2, 3}
    assert set(profile.load[0].drafting_ms) == {1, 2}
    rows = run_json("plan", "--profile", output, "--batch", "1,2", "--max-gamma", "2")["rows"]
    assert [row["batch"] for row in rows] == [1, 2]


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


def test_passes_are_timed_at_several_contexts(
    run: Run, run_json: RunJson, small: list[str], tmp_path: Path
) -> None:
    output = str(tmp_path / "p.json")
    options = ["measure", *small, "--max-gamma", "2", "--repeats", "1"]
    printed = run(*options, "--batch", "1,2", "--context", "16,24", "-o", output)
    assert printed.exit_code == 0, printed.output
    assert "Context 16, 24:" in printed.stdout
    loads = [(load.batch, load.context) for load in read_profile(Path(output)).load]
    assert loads == [(1, 16), (1, 24), (2, 16), (2, 24)]
    data = run_json("plan", "--profile", output, "--context", "16,24", "--max-gamma", "2")
    assert [(row["batch"], row["context"]) for row in data["rows"]] == [(1, 16), (1, 24)]
    assert [part["last_context"] for part in data["by_context"]][-1] == 24
    refused = run(*options, "--batch", "1", "--context", "16,0")
    assert_refused(refused, "must be an integer of at least 1, got 0")


@pytest.fixture
def falling(tmp_path: Path) -> str:
    """Returns a profile that accepts much at context 1,000 and little at 64,000."""
    profile = made_profile("small", alpha=0.8, c=0.1)
    drafting = profile.drafting()
    at_contexts = tuple(
        ContextAcceptance(
            context // 2, 2 * context, context, Alpha(alpha),
            {g: (0.0,) * g + (1 / float(expected_tokens(alpha, g)),) for g in range(1, 9)},
        )
        for context, alpha in ((1000, 0.9), (8000, 0.6), (64000, 0.05))
    )  # fmt: skip
    changed = {profile.draft_sampling: replace(drafting, at_contexts=at_contexts)}
    path = tmp_path / "falling.json"
    write_profile(replace(profile, draftings=changed), path)
    assert read_profile(path).drafting().at_contexts == at_contexts
    return str(path)


def test_a_plan_by_context_follows_the_profiles_acceptance(falling: str) -> None:
    arguments = ("--profile", falling, "--context", "1000,8000,64000", "--max-gamma", "8")
    data = json.loads(plan(*arguments, "--json").stdout)
    assert [row["alpha"] for row in data["rows"]] == pytest.approx([0.9, 0.6, 0.05])
    gammas = [row["advised_gamma"] for row in data["rows"]]
    assert gammas[0] > gammas[1] > gammas[2] == 0
    ranges = [(part["last_context"], part["gamma"]) for part in data["by_context"]]
    assert ranges == list(zip((1000, 8000, 64000), gammas, strict=True))
    text = " ".join(plan(*arguments).stdout.split())
    assert f"Draft K = {gammas[0]} at context 1000 (" in text
    assert f", K = {gammas[1]} from context 1001 to 8000 (" in text
    assert "do not speculate from context 8001 to 64000 (" in text
    assert f"From context 1000 to 64000, at K = {gammas[0]}, acceptance changes (" in text
    assert "cache reads" not in text
    # Without a context the mean of all texts counts.
    assert json.loads(plan("--profile", falling, "--json").stdout)["alpha"] == pytest.approx(0.8)
    far = plan("--profile", falling, "--context", "1000,200k").stdout
    assert "other contexts have the acceptance of the nearest" in " ".join(far.split())


def test_a_profiles_acceptance_by_context_is_planned_on_a_gpu(falling: str) -> None:
    configs = ["--target-config", "docs/configs/llama-3.1-8b.json", "--gpu", "h100"]
    configs += ["--draft-config", "docs/configs/llama-3.1-8b-eagle3.json"]
    arguments = ("--profile", falling, *configs, "--context", "1000,64000", "--json")
    rows = json.loads(plan(*arguments).stdout)["rows"]
    assert [row["alpha"] for row in rows] == pytest.approx([0.9, 0.05])
