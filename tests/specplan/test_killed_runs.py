"""Runs killed at random moments end, resumed, as if they had not been; the script tries 50."""

import subprocess
import sys
from pathlib import Path

import pytest

from reference.files import held
from tests.specplan.programs import Run

SCRIPT = Path(__file__).parents[2] / "scripts" / "killed.py"


def test_killed_measurements_end_as_whole_ones(folders: Path) -> None:
    pair = ("--target", "target", "--draft", "draft", "--prompts", "prompts.txt")
    run = subprocess.run(
        [sys.executable, SCRIPT, "measure", "--runs", "1", *pair],
        capture_output=True, text=True, cwd=folders,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert "killed at" in run.stdout


@pytest.mark.parametrize(
    ("command", "module"),
    [("measure", "estimator.profiles.measure"), ("align", "studies.bild.alignment")],
)
def test_an_output_that_another_process_holds_is_refused_before_a_model_is_read(
    run: Run, tmp_path: Path, command: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "output"
    monkeypatch.setattr(f"{module}.load", lambda *_: pytest.fail("a model was read"))
    with held(output):
        refused = run(command, "--num-prompts", "20", "-o", str(output))
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert f"output {output} must be written by one process at a time" in refused.stderr
