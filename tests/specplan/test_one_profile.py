"""One profile, one K: `plan`, `measure`, `report` and exports of it agree, or name their drafts."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from estimator.profiles.profile import Improvement
from estimator.profiles.profile_file import read_profile, write_profile
from specplan.main import main
from specplan.reports.profile import profile_text
from tests.specplan.plan_inputs import PROFILE

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
TIMED = {gamma: Improvement(1.4, 1.4) for gamma in (1, 2, 4)}


def run(*words: str) -> str:
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


@pytest.fixture
def both(tmp_path: Path) -> str:
    """A profile whose argmax drafts, as llama.cpp makes them, want another K."""
    path = tmp_path / "p.json"
    write_profile(replace(PROFILE, improvement_factor=TIMED), path)
    return str(path)


def drafts(text: str) -> list[str]:
    """Returns the K of each piece of advice in a text, in order."""
    return [part.partition(")")[0] for part in text.split("per block (K = ")[1:]]


def test_the_table_shows_the_k_of_each_export_by_name(both: str) -> None:
    data = json.loads(run("plan", "--profile", both, "--json"))
    ways = data["by_draft_sampling"]
    assert list(ways) == ["sampled", "argmax"]
    sampled, argmax = (ways[way]["advised_gamma"] for way in ways)
    assert sampled != argmax
    assert data["advised_gamma"] == sampled
    text = run("plan", "--profile", both)
    assert drafts(text) == [str(sampled), str(argmax)]
    assert (
        "(replayed: temperature not stated, sampled drafts)"
        in text.partition("Argmax drafts, as by default in")[0]
    )
    assert (
        "(replayed: temperature not stated, argmax drafts)"
        in text.partition("Argmax drafts, as by default in")[2]
    )
    exported = run("plan", "--profile", both, "--export", "llama.cpp")
    assert f"--spec-draft-n-max {argmax} " in exported
    alone = run("plan", "--profile", both, "--draft-sampling", "argmax")
    assert drafts(alone) == [str(argmax)]


def test_an_export_names_drafts_that_gain_more(both: str) -> None:
    ways = json.loads(run("plan", "--profile", both, "--json"))["by_draft_sampling"]
    better, worse = sorted(ways, key=lambda way: -ways[way]["improvement_factor"])
    text = run("plan", "--profile", both, "--export", "vllm")
    assert json.loads(run("plan", "--profile", both, "--json"))["draft_sampling"] == better
    assert "gains more" not in text
    data = json.loads(Path(both).read_text())
    data |= {"draft_sampling": worse, "alpha": data["draftings"][worse]["alpha"]}
    del data["improvement_factor"]
    Path(both).write_text(json.dumps(data))
    other = run("plan", "--profile", both, "--export", "vllm")
    assert f"# With {better} drafts (--draft-sampling {better}) K = " in other
    chosen = run("plan", "--profile", both, "--export", "vllm", "--draft-sampling", worse)
    assert "gains more" not in chosen


def test_one_line_suffices_where_both_ways_have_one_k(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    write_profile(replace(PROFILE, improvement_factor={1: TIMED[1]}), path)
    text = run("plan", "--profile", str(path))
    assert drafts(text) == ["1"]
    assert "(--draft-sampling argmax): K = 1, 1." in text


def test_measure_names_the_ks_that_plan_names(both: str) -> None:
    assert PROFILE.times is not None
    times = replace(PROFILE.times, drafting_ms={1: 1.2, 2: 2.4, 4: 4.8})
    measured = replace(PROFILE, improvement_factor=TIMED, times=times, optimal_gamma=2)
    text = " ".join(profile_text(measured).split())
    ways = json.loads(run("plan", "--profile", both, "--json"))["by_draft_sampling"]
    assert drafts(text) == [str(ways["sampled"]["advised_gamma"])]
    assert f"(--draft-sampling argmax): K = {ways['argmax']['advised_gamma']}, " in text


@pytest.mark.parametrize("name", ["embedded", "lookup"])
def test_no_gamma_but_a_timed_one_is_advised(name: str, tmp_path: Path) -> None:
    file = EXAMPLES / f"{name}.json"
    profile = read_profile(file)
    plan = json.loads(run("plan", "--profile", str(file), "--json"))
    words = ["report", str(file), "-o", str(tmp_path / "r.html"), "--json"]
    page = json.loads(run(*words))
    advised = plan["advised_gamma"]
    assert advised in profile.improvement_factor
    assert f"K = {advised}: " in page["headline"]
    assert page["drafts"][0]["advised_gamma"] == advised
    assert f"(K = {advised})" in profile_text(profile)


@pytest.mark.parametrize("name", ["embedded", "lookup"])
def test_traffic_at_a_rate_near_0_takes_the_times_of_the_plan(name: str) -> None:
    """In few texts a later position can add more tokens than the one before it."""
    profile = ("--profile", str(EXAMPLES / f"{name}.json"))
    load = ("--rate", "1e-7", "--prompt-tokens", "96", "--output-tokens", "8000")
    server = ("--prompt-ms", "1", "--alpha-spread", "0", "--slots", "1")
    plan = json.loads(run("plan", *profile, "--json"))
    row = json.loads(run("traffic", *profile, *load, *server, "--json"))["rows"][1]
    point = plan["curve"][row["gamma"] - 1]
    assert row["gamma"] == plan["advised_gamma"]
    assert row["tpot_ms"] == pytest.approx(point["ms_per_token"], rel=2e-3)


def test_a_better_gamma_that_was_not_timed_is_named(tmp_path: Path) -> None:
    """Where checking more tokens costs nothing, the longest drafts are best: none was timed."""
    content = json.loads((EXAMPLES / "lookup.json").read_text(encoding="utf-8"))
    step = content["target_ms"]["1"]
    content["target_ms"] = dict.fromkeys(content["target_ms"], step)
    file = tmp_path / "flat.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    plan = json.loads(run("plan", "--profile", str(file), "--json"))
    best, timed = plan["optimal_gamma"], {int(gamma) for gamma in content["improvement_factor"]}
    assert best > max(timed)
    assert plan["advised_gamma"] in timed
    text = " ".join(run("plan", "--profile", str(file)).split())
    assert f"K = {best} ({plan['improvement_factor']:.2f} times) was not timed" in text
