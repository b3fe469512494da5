"""Two processes, as torchrun starts them, measure as one does; what they refuse, they refuse once.

This file is also a program, whose two processes refuse and are killed; torchrun starts those that
go on.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from estimator.traces.scoring import trace_pair
from estimator.traces.trace_file import JOURNAL, journal_path, traces_path
from reference.files import held
from specplan.main import main
from tests.reference.ranks import forked_ranks
from tests.specplan.programs import Run, RunJson

ROOT = Path(__file__).parents[2]
LAUNCH = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2")
MEASURE = (
    "measure", "--target", "target", "--draft", "draft", "--prompts", "prompts.txt",
    "--num-prompts", "4", "--max-new-tokens", "12", "--max-gamma", "2", "--repeats", "1",
)  # fmt: skip
# Fields that texts and settings decide; all other fields of a profile depend on times.
DECIDED = ("alpha", "draftings", "alpha_by_position_in_text", "iid_check", "c_hat", "setup")


def launched(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Returns how a program ended that ran in a folder."""
    paths = [ROOT, ROOT / "tests" / "specplan", ROOT / "tests" / "reference"]
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=900,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "OMP_NUM_THREADS": "1",
            "HF_HUB_OFFLINE": "1",
        },
    )


@pytest.fixture(scope="module")
def place(folders: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder in which two processes refused, and one then was killed while measuring.

    Their folders are `0` and `1`, with models and prompts of the same names; in those whose names
    end in `draft` or `prompts`, these differ between the two.
    """
    place = tmp_path_factory.mktemp("many")
    for process in ("0", "1"):
        for kind in ("same", "draft", "prompts"):
            own = place / process / kind
            own.mkdir(parents=True)
            odd = process == "1"
            (own / "target").symlink_to(folders / "target")
            other = odd and kind == "draft"
            (own / "draft").symlink_to(folders / ("target" if other else "draft"))
            text = (folders / "prompts.txt").read_text()
            (own / "prompts.txt").write_text(text.upper() if odd and kind == "prompts" else text)
    ended = launched(place, __file__)
    assert ended.returncode == 0, ended.stderr
    return place


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("prompts", "processes must agree on the prompts, got "),
        ("draft", "processes must agree on the draft, got weights "),
        ("settings", "processes must agree on the settings, got "),
        ("alike", "top_k must be at least 1, got 0"),
        ("one", "process 1: prompts must be an existing file, folder or glob, got none.txt"),
        ("held", "must be written by one process at a time, got it held by another"),
        ("spread", "device_map needs a machine's devices for one process, got 2 processes here"),
    ],
)
def test_both_processes_refuse_and_one_prints_why(place: Path, case: str, message: str) -> None:
    first, second = (
        json.loads((place / process / f"{case}.json").read_text()) for process in ("0", "1")
    )
    assert (first["status"], second["status"]) == (2, 2)
    assert first["stdout"] == second["stdout"] == second["stderr"] == ""
    assert first["stderr"].startswith("Error: ")
    assert first["stderr"].count("\n") == 1
    assert message in first["stderr"]


def test_two_processes_resume_a_killed_run_with_the_result_of_one(
    place: Path, run_json: RunJson
) -> None:
    output = place / "profile.json"
    assert not output.exists()
    # With what both had shared before.
    assert journal_path(traces_path(output)).stat().st_size > len(JOURNAL)
    resumed = launched(
        place / "0" / "same", *LAUNCH, "-m", "specplan", *MEASURE, "-o", str(output), "--json"
    )
    assert resumed.returncode == 0, resumed.stderr
    together = json.loads(resumed.stdout)
    alone = run_json(*MEASURE)
    for made in (together, alone):
        del made["setup"]["threads"]  # each process has its own number
    assert [together[key] for key in DECIDED] == [alone[key] for key in DECIDED]
    left = sorted(file.name for file in place.iterdir() if file.is_file())
    assert left == ["profile.json", "profile.json.traces.npz"]


@pytest.mark.parametrize(
    "arguments", [("validate",), ("generate",), ("measure", "--engine", "transformers")]
)
def test_other_commands_run_in_one_process(
    run: Run, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    refused = run(*arguments)
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert "must run in one process, got 2 (WORLD_SIZE)" in refused.stderr


def refusals(process: str) -> None:
    """Writes how this process ends in each of the cases above."""
    place = Path.cwd()
    for case, folder, arguments in [
        ("prompts", "prompts", ()),
        ("draft", "draft", ()),
        ("settings", "same", ("--seed", process)),
        ("alike", "same", ("--top-k", "0")),
        ("one", "same", ()),
        ("held", "same", ("-o", str(place / "held"))),
        ("spread", "same", ("--device-map", "auto")),
    ]:
        os.chdir(place / process / folder)
        with ExitStack() as stack:
            if case == "held" and process == "0":
                stack.enter_context(held(place / "held"))
            prompts = "none.txt" if (case, process) == ("one", "1") else "prompts.txt"
            asked = [prompts if each == "prompts.txt" else each for each in MEASURE]
            ended = CliRunner().invoke(main, [*asked, *arguments])
        told = {"status": ended.exit_code, "stdout": ended.stdout, "stderr": ended.stderr}
        (place / process / f"{case}.json").write_text(json.dumps(told))
    os.chdir(place)


def killed(process: str) -> None:
    """Measures; the second process is killed with its second text written and not yet shared."""
    traced: list[Any] = []

    def trace(*arguments: Any, **settings: Any) -> Any:
        traced.append(trace_pair(*arguments, **settings))
        if process == "1" and len(traced) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return traced[-1]

    pytest.MonkeyPatch().setattr("estimator.traces.measured_traces.trace_pair", trace)
    output = Path.cwd() / "profile.json"
    os.chdir(Path(process) / "same")
    main([*MEASURE, "-o", str(output)])


def refuse_and_be_killed() -> None:
    refusals(os.environ["RANK"])
    killed(os.environ["RANK"])


if __name__ == "__main__":
    # Imported here once for both.
    import accelerate  # noqa: F401
    from transformers import LlamaForCausalLM  # noqa: F401

    _, second = forked_ranks(refuse_and_be_killed)
    if second != -signal.SIGKILL:
        sys.exit(f"killed, but ended with {second}")
