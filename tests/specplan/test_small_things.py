"""Edges that a user meets: outputs that cannot be written, closed pipes, lists of names."""

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from estimator.profiles.profile_file import read_profile, write_profile
from specplan.main import main
from specplan.reports.bar import Bar
from tests.specplan.made_profiles import made_profile

PLAN = ["plan", "--alpha", "0.8", "--c", "0.1"]


def invoke(*words: str, **settings: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, words, env=settings)
    return result.exit_code, result.stdout, result.stderr


def test_an_answer_is_printed_though_its_file_cannot_be_written() -> None:
    status, stdout, stderr = invoke(*PLAN, "-o", "/proc/x")
    assert status == 2
    assert "Break-even" in stdout
    assert stderr == "Error: /proc/x: No such file or directory\n"


def test_a_measured_profile_is_kept_though_its_file_cannot_be_written(tmp_path: Path) -> None:
    profile = made_profile("small", alpha=0.8, c=0.1)
    with pytest.raises(OSError, match="the profile is in ") as caught:
        write_profile(profile, tmp_path / "none" / "p.json")
    assert caught.value.errno == errno.ENOENT
    kept = Path(str(caught.value.strerror).rpartition(" is in ")[2])
    assert read_profile(kept).alpha == profile.alpha


def test_a_dash_is_stdout() -> None:
    status, stdout, _ = invoke(*PLAN, "-o", "-")
    assert status == 0
    assert json.loads(stdout)["alpha"] == 0.8
    assert not Path("-").exists()


def test_a_closed_stdout_is_named() -> None:
    words = [sys.executable, "-m", "specplan", *PLAN]
    closed = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *words], capture_output=True, text=True)
    assert closed.returncode == 1
    assert closed.stderr == "Error: stdout must be open, got it closed\n"


@pytest.mark.parametrize(
    "words",
    ["observe {} --c 0.1", "plan --profile {}", "report {} -o r.html", "compare {} {}"],
)
def test_json_nested_too_deep_is_refused_in_a_line(words: str, tmp_path: Path) -> None:
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000)
    status, _, stderr = invoke(*words.format(deep, deep).split())
    assert status == 2
    assert stderr.endswith("nested too deep\n")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("plan --typical list", "eagle3-llama-3.1-8b-chat"),
        ("plan --gpu list", "h100"),
        ("measure --draft list", "lookup:vllm:MIN-MAX"),
        ("figures list", "leviathan-fig3"),
    ],
)
def test_list_in_place_of_a_name_prints_all(words: str, name: str) -> None:
    status, stdout, stderr = invoke(*words.split())
    assert (status, stderr) == (0, "")
    assert any(line.split()[:1] == [name] for line in stdout.splitlines())


def test_help_is_as_wide_as_the_terminal_and_cuts_no_list() -> None:
    words = ["measure", "--help"]
    narrow, wide = (
        CliRunner().invoke(main, words, terminal_width=each).stdout for each in (80, 130)
    )
    assert max(map(len, narrow.splitlines())) <= 80
    assert 100 < max(map(len, wide.splitlines())) <= 130
    for text in (narrow, wide):
        assert "or a Hugging Face name or folder" in " ".join(text.split())
        assert "…" not in next(line for line in text.splitlines() if "--engine" in line)


def test_a_speed_that_looks_like_a_time_is_questioned() -> None:
    runs = ["--run", "gamma=0,tps=7.1", "--run", "gamma=3,tps=9,length=2.85"]
    status, _, stderr = invoke("plan", *runs)
    assert status == 0
    assert "tps=7.1 is 141 ms a token: if it is the time in milliseconds, write tpot=7.1" in (
        " ".join(stderr.split())
    )
    assert "tps=" not in invoke("plan", "--run", "gamma=0,tps=70")[2]


def test_progress_that_ends_early_says_so(capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    monkeypatch.setattr("specplan.reports.bar.LINE_SECONDS", 0.0)
    with Bar("measure", "run") as bar:
        bar.expect(3)
        bar.step()
        bar.step()
    assert capsys.readouterr().err.splitlines()[-1] == (
        "measure: ended early at 2 of 3 runs: enough"
    )
    with Bar("measure", "run") as bar:
        bar.expect(1)
        bar.step()
    assert "early" not in capsys.readouterr().err


def test_a_profile_of_impossible_times_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    write_profile(made_profile("small", alpha=0.8, c=0.1), path)
    data = json.loads(path.read_text())
    data["target_ms"] = {"1": 1e300, "5": 1e300}
    path.write_text(json.dumps(data))
    status, _, stderr = invoke("plan", "--profile", str(path))
    assert status == 2
    assert "is damaged: Expected `float` <= 1000000000.0" in stderr
