"""`measure --batch`, and `plan --profile P --batch` from it: a schedule without a roofline."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from made_profiles import made_profile
from programs import Run, RunJson

from estimator.profiles.profile import LoadCosts
from estimator.profiles.profile_file import read_profile, write_profile
from specplan.main import main


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


def test_what_was_not_measured_is_one_line(path: str) -> None:
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
    told = run(*options, "--batch", "1,2,1", "-o", output)
    assert told.exit_code == 0, told.output
    assert "Context 16:" in told.stdout
    profile = read_profile(Path(output))
    assert [load.batch for load in profile.load] == [1, 2]
    assert set(profile.load[0].target_ms) == {1, 2, 3}
    assert set(profile.load[0].drafting_ms) == {1, 2}
    rows = run_json("plan", "--profile", output, "--batch", "1,2", "--max-gamma", "2")["rows"]
    assert [row["batch"] for row in rows] == [1, 2]
