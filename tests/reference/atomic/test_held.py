"""An output is held by one process, and what killed ones left is removed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reference.atomic import held

HOLD = """
import sys, time
from pathlib import Path
from reference.atomic import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def ended() -> int:
    """Returns the number of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_held_output_leaves_nothing(tmp_path: Path) -> None:
    with held(tmp_path / "p.json"):
        assert files(tmp_path) == [".p.json.lock"]
    assert files(tmp_path) == []


def test_another_process_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    output = tmp_path / "p.json"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(output)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    with holder.stdout:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ValueError, match="must be written by one process at a time, got it"):
            held(output).__enter__()
        with held(tmp_path / "other.json"):
            pass
        holder.kill()
        holder.wait()
    assert files(tmp_path) == [".p.json.lock"]
    with held(output):
        pass
    assert files(tmp_path) == []


def test_two_names_of_one_file_are_one_output(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "p.json")
    with (
        held(tmp_path / "p.json"),
        pytest.raises(ValueError, match=r"link.json must be written by one process"),
    ):
        held(tmp_path / "link.json").__enter__()


def test_files_of_dead_processes_are_removed_and_no_others(tmp_path: Path) -> None:
    dead = ended()
    gone = [f".p.json.{dead}.part", f".p.json.traces.npz.{dead}.part"]
    stay = [
        f".p.json.{os.getppid()}.part",
        f".q.json.{dead}.part",
        "p.json.traces.npz.part",
        ".p.json",
    ]
    for name in (*gone, *stay):
        (tmp_path / name).touch()
    with held(tmp_path / "p.json"):
        assert files(tmp_path) == sorted([".p.json.lock", *stay])
