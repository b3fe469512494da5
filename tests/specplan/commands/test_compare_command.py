"""`specplan compare`: pairs, forms, and what cannot be paired."""

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from estimator.profiles.profile_file import write_profile
from specplan.main import main
from tests.specplan.made_profiles import made_profile, made_validation
from tests.specplan.programs import Run, RunJson


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    for name, draft, alpha in (("a", "small_1", 0.7), ("b", "big&co", 0.8)):
        write_profile(made_profile(draft, alpha=alpha, c=0.1), tmp_path / f"{name}.json")
    return str(tmp_path / "a.json"), str(tmp_path / "b.json")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["compare", *arguments])


def test_every_form_has_the_same_numbers_setup_and_counts(files: tuple[str, str]) -> None:
    data = json.loads(run(*files, "--json").stdout)
    numbers = [difference["number"] for difference in data["differences"]]
    gammas = [f"speed-up at gamma {gamma}" for gamma in (1, 2, 3, 4, 6, 8)]
    assert numbers[:8] == ["alpha", "c", *gammas]
    assert (data["a"]["draft"], data["b"]["draft"]) == ("small_1", "big&co")
    assert (data["a"]["prompts"], data["a"]["tokens"], data["prompts_hash"]) == (8, 400, "a1b2")
    alpha, c = data["differences"][:2]
    assert alpha["difference"] == pytest.approx(0.1)
    assert alpha["told_apart"]
    assert alpha["low"] < alpha["difference"] < alpha["high"]
    assert not c["told_apart"]
    lines = list(csv.DictReader(io.StringIO(run(*files, "--format", "csv").stdout)))
    assert [float(line["difference"]) for line in lines] == [
        each["difference"] for each in data["differences"]
    ]
    assert {line["prompts"] for line in lines} == {"8"}
    assert data["verdict"].startswith("Take B: B is 18 % faster at its own best K, 4 against 3 ")
    table = run(*files).stdout
    assert " ".join(table.split("\n\n")[0].split()) == data["verdict"]
    assert "A: small_1 for big, 400 tokens" in table
    assert f"+0.1000 [{alpha['low']:.4f}, {alpha['high']:.4f}]" in table
    assert "not decided" in table
    latex = run(*files, "--format", "latex").stdout
    assert r"A: small\_1 for big (400 tokens). B: big\&co for big (400 tokens)." in latex
    assert r"$\alpha$ & 0.700 & 0.800 & $+0.100$" in latex
    assert latex.count(r" \\") == 1 + len(numbers)


@pytest.mark.parametrize("form", ["table", "json", "csv", "latex"])
def test_a_comparison_is_written_as_it_is_printed(
    files: tuple[str, str], tmp_path: Path, form: str
) -> None:
    output = tmp_path / "out"
    assert run(*files, "--format", form, "-o", str(output)).stdout == f"Wrote {output}\n"
    written = output.read_text(encoding="utf-8")
    if form == "json":
        found = json.loads(written)
        assert found.pop("command").startswith("specplan compare ")
        written = json.dumps(found, indent=2) + "\n"
    assert written == run(*files, "--format", form).stdout


def test_validations_are_paired_by_setting(tmp_path: Path) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    for path, draft in ((a, "one"), (b, "other")):
        path.write_text(json.dumps(made_validation(draft)))
    found = json.loads(run(str(a), str(b), "--json").stdout)["differences"]
    assert [each["number"] for each in found] == [
        f"speed-up, temperature {temperature}, gamma {gamma}"
        for temperature in (0, 1)
        for gamma in (2, 4)
    ]
    assert {each["difference"] for each in found} == {0}
    both = made_validation("one")
    both["rows"] += made_validation("other")["rows"]
    b.write_text(json.dumps(both))
    again = json.loads(run(str(a), str(b), "--json").stdout)["differences"]
    assert next(each["number"] for each in again) == "speed-up, one, temperature 0, gamma 2"
    assert len(again) == 4


def test_measurements_of_one_prompt_are_paired(
    run_json: RunJson, run: Run, small: list[str], tmp_path: Path
) -> None:
    """Two drafts on equal texts; a draft is not distinguishable from itself."""
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    for output, draft in ((a, "draft"), (b, "random")):
        options = [draft if word == "draft" else word for word in small]
        options += ["--num-prompts", "3", "--max-new-tokens", "8"]
        run_json("measure", *options, "--max-gamma", "2", "--repeats", "1", "-o", output)
    alpha = run_json("compare", a, b)["differences"][0]
    profiles = [json.loads(Path(path).read_text()) for path in (a, b)]
    assert [alpha["a"], alpha["b"]] == [profile["alpha"]["value"] for profile in profiles]
    assert alpha["told_apart"]
    assert alpha["difference"] < 0
    same = run_json("compare", a, a)["differences"]
    assert {each["difference"] for each in same} == {0}
    assert not any(each["told_apart"] for each in same)
