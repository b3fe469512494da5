"""The imports of the model commands, and their output on a terminal."""

import json
import os
import pty
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from estimator.profiles.profile_file import write_profile
from specplan.main import main
from tests.specplan.fresh import modules_after
from tests.specplan.plan_inputs import PROFILE

HEAVY = {
    "torch", "transformers", "kenlm", "matplotlib", "tokenizers", "numpy", "scipy", "tqdm",
}  # fmt: skip


def test_help_shows_example_and_defaults_and_imports_nothing_heavy(tmp_path: Path) -> None:
    commands = ("measure", "validate", "generate")
    lines = [f"{command} --help-all" for command in commands]
    modules, text = modules_after(*lines, folder=tmp_path)
    assert not modules & HEAVY
    for command in commands:
        assert f"Example:\n    specplan {command}" in text
    assert text.count("[default: auto]") >= 3
    assert text.count("--max-new-tokens") >= 3


def test_a_dry_run_of_the_embedded_pair_loads_no_model_library(tmp_path: Path) -> None:
    lines = ("tune --dry-run --json", "tune --engine llama.cpp --dry-run --json")
    modules, _ = modules_after(*lines, folder=tmp_path)
    assert not modules & {"torch", "transformers", "scipy.optimize"}


def test_planning_from_a_profile_imports_nothing_heavy(tmp_path: Path) -> None:
    write_profile(PROFILE, tmp_path / "p.json")
    modules, text = modules_after("plan --profile p.json --json", folder=tmp_path)
    assert json.loads(text)["alpha"] == PROFILE.alpha.value
    heavy = {"torch", "transformers", "kenlm", "matplotlib", "tqdm"}
    assert not modules & (heavy | {"scipy.optimize", "scipy.stats"})


@pytest.mark.parametrize(
    "line",
    [
        "measure --draft ngram:none.arpa",
        "validate --draft suffix:none",
        "generate --prompts none.txt",
        "measure --draft some/folder/none",
        "heads analyse --prompts none.txt",
        "heads train --heads 0",
        "ngram train --corpus none --tokenizer embedded -o a.arpa",
    ],
)
def test_a_missing_file_is_refused_before_a_model_library_is_loaded(
    line: str, tmp_path: Path
) -> None:
    code = (
        "import sys\nfrom specplan.main import main\n"
        f"try:\n    main({line!r}.split())\nexcept SystemExit as end:\n    assert end.code == 2\n"
        "print(*{'torch', 'transformers'} & sys.modules.keys())"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == ""
    assert ended.stderr.startswith("Error: ")


def test_progress_is_shown_on_a_terminal(
    folders: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """stderr is a terminal, stdout is not: the bar goes to the one, JSON to the other."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    parts: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # the terminal's other side is closed
            while True:
                parts.append(os.read(ours, 4096))

    reader = Thread(target=read)
    reader.start()
    monkeypatch.chdir(folders)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    pair = ["--target", "target", "--draft", "draft", "--prompts", "prompts.txt"]
    brief = ["--num-prompts", "2", "--max-new-tokens", "6", "--repeats", "1"]
    with open(theirs, "w") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        with pytest.raises(SystemExit) as ended:
            main(["validate", *pair, *brief, "--gamma", "1", "--temperature", "0", "--json"])
    reader.join()
    os.close(ours)
    shown = b"".join(parts)
    assert not ended.value.code, shown
    assert b"validate: 100%" in shown
    assert b"Loading weights" not in shown
    assert shown.lstrip(b"\r").startswith(b"validate:")
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 1
