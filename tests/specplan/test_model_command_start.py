"""What the model commands import, show while they run and leave behind; in their own processes."""

import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

HEAVY = {
    "torch", "transformers", "kenlm", "matplotlib", "tokenizers", "numpy", "scipy", "tqdm",
}  # fmt: skip
PAIR = ("--target", "target", "--draft", "draft", "--prompts", "prompts.txt")
SHORT = ("--num-prompts", "2", "--max-new-tokens", "6", "--repeats", "1")
LONG = ("--max-new-tokens", "60", "--repeats", "50")
QUICK = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


def modules_after(*arguments: str, folder: Path) -> tuple[set[str], str]:
    """Returns the modules that a command imported, and what it printed."""
    code = f"""
import sys
from specplan.main import main
try:
    main({list(arguments)!r})
except SystemExit as end:
    assert not end.code, end.code
print(*sys.modules, file=sys.stderr)
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, env=QUICK
    )
    assert ended.returncode == 0, ended.stderr
    return set(ended.stderr.split()), ended.stdout


@pytest.mark.parametrize("command", ["measure", "validate", "generate"])
def test_help_shows_example_and_defaults_and_imports_nothing_heavy(
    command: str, tmp_path: Path
) -> None:
    modules, text = modules_after(command, "--help-all", folder=tmp_path)
    assert not modules & HEAVY
    assert f"Example:\n    specplan {command}" in text
    assert "[default: auto]" in text
    assert "--max-new-tokens" in text


def test_planning_from_a_measured_profile_imports_nothing_heavy(
    folders: Path, tmp_path: Path
) -> None:
    path = tmp_path / "p.json"
    measured = subprocess.run(
        [*program(), "measure", *PAIR, *SHORT, "--max-gamma", "2", "-o", str(path), "--json"],
        capture_output=True,
        text=True,
        cwd=folders,
        env=QUICK,
    )
    assert measured.returncode == 0, measured.stderr
    assert measured.stderr == ""
    alpha = json.loads(measured.stdout)["alpha"]["value"]
    modules, text = modules_after("plan", "--profile", str(path), "--json", folder=tmp_path)
    assert json.loads(text)["alpha"] == alpha
    heavy = {"torch", "transformers", "kenlm", "matplotlib", "tqdm"}
    assert not modules & (heavy | {"scipy.optimize", "scipy.stats"})


def program() -> list[str]:
    """Returns the command that starts specplan."""
    return [sys.executable, "-c", "from specplan.main import main; main()"]


def test_progress_is_shown_on_a_terminal(folders: Path) -> None:
    """stderr is a terminal, stdout is not: the bar goes to the one, JSON to the other."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    with subprocess.Popen(
        [*program(), "validate", *PAIR, *SHORT, "--gamma", "1", "--temperature", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=folders,
        env=QUICK | {"TERM": "xterm"},
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                shown += os.read(ours, 4096)
            except OSError:  # the terminal's other side is closed
                break
        os.close(ours)
        assert process.stdout is not None
        printed = process.stdout.read()
    assert process.returncode == 0, shown
    assert b"validate: 100%" in shown
    assert b"Loading weights" not in shown
    assert shown.lstrip(b"\r").startswith(b"validate:")
    assert len(json.loads(printed)["rows"]) == 1


def test_ctrl_c_ends_with_130_and_keeps_what_was_written(folders: Path, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    traces = tmp_path / "p.json.traces.npz.part"
    with subprocess.Popen(
        [*program(), "measure", *PAIR, *LONG, "-o", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folders,
        env=QUICK,
    ) as process:
        while not traces.exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate()
    assert process.returncode == 130, said
    assert printed == ""
    assert said.startswith("Kept beside")
    assert said.endswith("\nInterrupted.\n")
    assert [file.name for file in tmp_path.iterdir()] == ["p.json.traces.npz.part"]
