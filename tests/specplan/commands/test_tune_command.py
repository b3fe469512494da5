"""`specplan tune`: runs as JSON and as a table, read by plan, and continued from its file."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from estimator.costs.kernel_tables import MeasuredKernels
from specplan.main import main

SMALL = ["--num-prompts", "2", "--prompt-tokens", "8", "--max-new-tokens", "12", "--repeats", "1"]


def tuned(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["tune", *SMALL, "--max-gamma", "2", *arguments])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the file of a tuning of the own decoder."""
    path = tmp_path_factory.mktemp("tune") / "tuned.json"
    result = tuned("--max-runs", "1", "-o", str(path), "--json")
    assert result.exit_code == 0, result.output
    shown, kept = json.loads(result.stdout), json.loads(path.read_text())
    assert all(row.pop("turns") for row in kept["rows"])
    assert shown == kept
    assert kept["command"] == f"specplan tune {' '.join(SMALL)} --max-gamma 2 --max-runs 1"
    # A slow machine also names its work, after half a minute.
    lines = [line for line in result.stderr.splitlines() if not line.startswith("tune: ")]
    head, duration, columns, first, second = lines
    assert "Expected at 1 at once: gamma" in head
    assert re.match(
        r"This takes about [\d.]+ (s|min) \(\d+ texts of 12 tokens\), at most", duration
    )
    assert "best so far" in columns
    assert first.split()[:2] == ["1", "0"]
    assert first.endswith("gamma 0, the baseline")
    assert f"gamma {kept['rows'][1]['gamma']}, " in second
    assert second.split()[1] == str(kept["rows"][1]["gamma"])
    return path


def test_rows_have_the_expected_and_the_measured_speed(runs: Path) -> None:
    baseline, row = json.loads(runs.read_text())["rows"]
    assert (baseline["gamma"], baseline["expected_ms_per_token"]) == (0, None)
    assert row["gamma"] in (1, 2)
    assert row["expected_ms_per_token_low"] < row["expected_ms_per_token"]
    assert row["ms_per_token"] > 0
    assert 1 <= row["block_efficiency"] <= row["gamma"] + 1


def test_plan_reads_the_runs_and_gives_the_same_answer(runs: Path) -> None:
    result = CliRunner().invoke(main, ["plan", "--runs", str(runs), "--max-gamma", "2", "--json"])
    assert result.exit_code == 0, result.output
    [advised] = json.loads(runs.read_text())["advised"]
    plan = json.loads(result.stdout)
    assert plan["advised_gamma"] == advised["gamma"]
    assert plan["gain_probability"] == pytest.approx(advised["gain_probability"])


def test_a_second_call_goes_on_from_the_file(runs: Path) -> None:
    before = runs.read_text()
    result = tuned("--max-runs", "1", "-o", str(runs))
    assert result.exit_code == 0, result.output
    assert json.loads(runs.read_text())["rows"] == json.loads(before)["rows"]
    sentence = json.loads(runs.read_text())["sentence"]
    assert sentence in " ".join(result.stdout.split())


def test_a_dry_run_prints_its_expectation_and_writes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "tuned.json"
    result = tuned("--dry-run", "-o", str(path))
    assert result.exit_code == 0, result.output
    _, baseline, draft, *_ = result.stdout.splitlines()
    assert baseline.split() == ["1", "0", "-", "-", "-"]
    assert re.fullmatch(r" +1 +[12] +[\d.]+ \[[\d.]+, [\d.]+\] +(\d+|over 99) % +-", draft)
    assert "A search usually decodes 8 texts of 12 tokens" in result.stdout
    assert "Nothing ran" in result.stdout
    assert not path.exists()


def test_a_deployment_gives_the_first_guess(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs = Path("docs/configs").resolve()
    for name, model in (("target", "llama-3.1-8b"), ("draft", "llama-3.2-1b")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text((configs / f"{model}.json").read_text())
    stated = ["--target-config", str(tmp_path / "target" / "config.json")]
    stated += ["--draft-config", str(tmp_path / "draft" / "config.json")]
    result = tuned("--dry-run", "--gpu", "h100", *stated, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    baseline, draft = found["rows"]
    # 16 GB of weights at 3.35 TB/s are 4.8 ms.
    assert 4.8 < baseline["expected_ms_per_token"] < 15
    assert draft["expected_ms_per_token_low"] < draft["expected_ms_per_token_high"]
    assert found["advised"][0]["gain_probability"] < 0.9
    assert "This takes about" in found["notes"][0]
    # With measured kernels the first guess is theirs, as plan's is.
    monkeypatch.setattr("estimator.costs.kernel_tables.missing", lambda *_: None)
    for kernel in ("product", "attention"):
        monkeypatch.setattr(MeasuredKernels, kernel, lambda *_, **__: 1e-3)
    slow = json.loads(tuned("--dry-run", "--gpu", "h100", *stated, "--json").stdout)
    # 32 layers of at least five kernels, and the output matrix.
    assert slow["rows"][0]["expected_ms_per_token"] > 100
