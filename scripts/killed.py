"""Kills runs at random moments, resumes them, and compares what they leave with a whole run's.

    python scripts/killed.py measure --runs 50
    python scripts/killed.py align --runs 50
    python scripts/killed.py measure --runs 1 --target T --draft D   # and other options of measure

Each run is a process of its own that is sent SIGKILL at a moment drawn uniformly from the time that
a whole run takes, up to KILLS times, and then left to end. What it wrote must be what the whole run
wrote, times apart, without further files. The exit status is 0 if every run passed.

Times are the processor's, so that moments fall where they are meant to on a busy machine, too.

The processes are forked from one that has imported all they need, so that the moments fall into
the work and not into imports.
"""

import argparse
import hashlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil

KILLS = 3
COMMON = ("--max-new-tokens", "8", "--prompt-tokens", "16")
# The fields of a profile that texts and settings decide; all others depend on times.
DECIDED = ("alpha", "draftings", "alpha_by_position_in_text", "iid_check", "c_hat", "setup")


@dataclass(frozen=True, slots=True)
class Job:
    """A command, and what it leaves: content of files, times apart, by their names.

    again: the exit status where the output is whole already.
    """

    arguments: tuple[str, ...]
    left: Callable[[Path], dict[str, Any]]
    again: int = 0


def _profile(folder: Path) -> dict[str, Any]:
    left: dict[str, Any] = {path.name: None for path in folder.iterdir()}
    profile = json.loads((folder / "output").read_bytes())
    left["output"] = {key: profile[key] for key in DECIDED}
    return left


def _aligned(folder: Path) -> dict[str, Any]:
    left: dict[str, Any] = {path.name: None for path in folder.iterdir()}
    for path in (folder / "output").iterdir():
        left[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    note = json.loads((folder / "output" / "training.json").read_bytes())
    left["training.json"] = {
        key: value
        for key, value in note.items()
        if key not in ("seconds", "resumed_at_step", "output")
    }
    return left


JOBS = {
    "measure": Job(
        ("measure", "--num-prompts", "3", "--max-gamma", "1", "--repeats", "1", *COMMON), _profile
    ),
    "align": Job(
        ("align", "--num-prompts", "6", "--held-out", "2", "--steps", "4", "--batch", "2", *COMMON),
        _aligned,
        again=2,
    ),
}


def started(job: Job, folder: Path) -> int:
    """Returns the number of a process that runs the command, its output in a folder."""
    process = os.fork()
    if process:
        return process
    silence = os.open(os.devnull, os.O_RDWR)
    os.dup2(silence, 1)
    errors = os.open(folder.with_name(f"{folder.name}.errors"), os.O_CREAT | os.O_WRONLY)
    os.dup2(errors, 2)
    status = 1
    try:
        from specplan.main import main

        main([*job.arguments, "-o", str(folder / "output")])
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        os._exit(status)


def ended(process: int) -> int:
    """Returns how a process ended: its exit status, or the signal below 0."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def processor_seconds(process: int) -> float | None:
    """Returns the processor's time that a process has taken; None once it has ended."""
    if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
        return None
    times = psutil.Process(process).cpu_times()
    return float(times.user + times.system)


def killed(process: int, moment: float) -> int:
    """Kills a process that has taken so much of the processor's time; returns how it ended."""
    while (taken := processor_seconds(process)) is not None:
        if taken >= moment:
            os.kill(process, signal.SIGKILL)
            break
        time.sleep(0.005)
    return ended(process)


def survives(job: Job, folder: Path, whole: dict[str, Any], moments: list[float]) -> str:
    """Returns what is wrong after kills at these moments (seconds) and a run to the end, or ""."""
    for moment in moments:
        if killed(started(job, folder), moment) == 0:
            break  # it had finished
    wanted = job.again if (folder / "output").exists() else 0
    status = ended(started(job, folder))
    if status != wanted:
        return f"exit status {status}: {folder.with_name(f'{folder.name}.errors').read_text()}"
    left = job.left(folder)
    if left.keys() != whole.keys():
        return f"files {sorted(left.keys() ^ whole.keys())} differ"
    return ", ".join(name for name in whole if left[name] != whole[name])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("command", choices=JOBS)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    arguments, more = parser.parse_known_args()
    job = JOBS[arguments.command]
    job = replace(job, arguments=(*job.arguments, *more))
    # Forked processes cannot share their parent's threads, which begin with the first tensor.
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    from transformers import LlamaForCausalLM  # noqa: F401   which the embedded models are

    import estimator.profiles.measure
    import estimator.training.heads  # noqa: F401
    import specplan.main  # noqa: F401
    import studies.bild.alignment
    import studies.blockwise.training  # noqa: F401

    random = np.random.default_rng(arguments.seed)
    wrong = 0
    with tempfile.TemporaryDirectory() as root:
        first = Path(root) / "whole"
        first.mkdir()
        process, seconds = started(job, first), 0.0
        while (taken := processor_seconds(process)) is not None:
            seconds = taken
            time.sleep(0.005)
        if ended(process) != 0:
            print(first.with_name("whole.errors").read_text())
            return 1
        whole = job.left(first)
        print(f"a whole run takes {seconds:.1f} s", flush=True)
        for number in range(arguments.runs):
            folder = Path(root) / str(number)
            folder.mkdir()
            kills = int(random.integers(1, KILLS + 1))
            moments = random.uniform(0, seconds, kills).tolist()
            fault = survives(job, folder, whole, moments)
            wrong += fault != ""
            said = fault or "as the whole run"
            print(
                f"{number}: killed at {', '.join(f'{m:.2f}' for m in moments)} s: {said}",
                flush=True,
            )
    print(f"{arguments.runs - wrong} of {arguments.runs} ended as the whole run")
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
