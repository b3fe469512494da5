"""How many threads compute, from what others leave of the cores, and in which process."""

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from estimator.timing import threads
from estimator.timing.threads import (
    ALONE,
    Threads,
    computing,
    free_cores,
    free_threads,
    launched,
    require_one_process,
    these_processes,
)
from specplan.main import main


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Returns a function that makes a machine whose cores are so busy, per cent of their time."""

    def make(busy: list[float], *, quota: str = "max 100000") -> None:
        allowed = tmp_path / "cpu.max"
        allowed.write_text(quota)
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        monkeypatch.setattr(threads, "QUOTA", allowed)
        monkeypatch.setattr(threads, "own_cores", lambda: set(range(min(8, len(busy)))))
        monkeypatch.setattr("psutil.cpu_percent", lambda **_: busy)

    return make


QUIET = [1.0] * 8


@pytest.mark.parametrize(
    ("busy", "quota", "free", "count"),
    [
        (QUIET, "max 100000", 7.92, 7),
        ([100.0] * 3 + QUIET[3:], "max 100000", 4.95, 4),
        (QUIET, "250000 100000", 2.5, 1),
        ([0.0, 10.0], "max 100000", 1.9, 1),
        ([100.0, 100.0], "max 100000", 0.0, 1),
        # Cores beyond its own belong to others.
        ([*QUIET, 100.0, 0.0], "max 100000", 7.92, 7),
    ],
)
def test_as_many_threads_as_cores_are_free_less_one(
    machine: Callable[..., None], busy: list[float], quota: str, free: float, count: int
) -> None:
    machine(busy, quota=quota)
    assert free_cores() == pytest.approx(free)
    found = free_threads(most=16)
    assert (found.count, found.free) == (count, pytest.approx(free))


def test_no_more_threads_than_are_of_use(machine: Callable[..., None]) -> None:
    machine(QUIET)
    assert free_threads(most=4).count == 4


def test_the_cores_of_this_machine_are_watched() -> None:
    assert 0 <= free_cores() <= os.cpu_count()


def test_a_number_that_was_chosen_is_taken_and_nothing_watched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threads, "free_cores", lambda: pytest.fail("watched"))
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert free_threads(most=1).count == 3
    before = torch.get_num_threads()
    with computing("cpu", before + 1) as used:
        assert used.count == torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before


def test_reports_say_how_many_and_why() -> None:
    assert Threads(1, 2, 0.71).sentence == "1 thread: 0.7 of 2 cores were free before the run."
    assert Threads(4, 8).sentence == "4 threads, as requested."


def test_elsewhere_than_on_linux_all_cores_and_no_quota_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    monkeypatch.setattr(threads, "QUOTA", tmp_path / "none")
    monkeypatch.setattr("psutil.cpu_percent", lambda **_: [0.0, 50.0, 100.0])
    assert threads.free_cores() == 1.5


@pytest.mark.parametrize(("system", "way"), [("linux", "fork"), ("darwin", "spawn")])
def test_elsewhere_than_on_linux_processes_are_not_forked(
    system: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("estimator.timing.threads.sys.platform", system)
    ways: list[str | None] = []
    pool = threads.process_pool

    def noted(processes: int) -> ProcessPoolExecutor:
        executor = pool(processes)
        ways.append(executor._mp_context.get_start_method())
        return executor

    monkeypatch.setattr("specplan.commands.figures.process_pool", noted)
    names = ("leviathan-fig2", "leviathan-fig3", "leviathan-table1")
    done = CliRunner().invoke(main, ["figures", *names, "--format", "csv", "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert ways == [way]
    assert {file.stem for file in tmp_path.iterdir()} >= set(names)


def test_without_torchrun_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert these_processes() is ALONE
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert these_processes() is ALONE


def test_alone_things_pass_as_they_are_made() -> None:
    made = []

    def making() -> "list[int]":
        made.append(1)
        return made

    assert ALONE.gathered("own") == ["own"]
    shared = ALONE.shared(making() for _ in range(2))
    next(shared)
    assert len(made) == 1


@pytest.mark.parametrize("text", ["", "0", "-1", "two", "1.5"])
def test_a_number_of_processes_that_is_none_is_refused(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", text)
    with pytest.raises(ValueError, match=f"WORLD_SIZE must be a number .* at least 1, got {text}"):
        launched()


def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ValueError, match="at most as many as the machine's GPUs, got 4 on 2"):
        these_processes()


def test_a_command_for_one_process_is_refused_among_several(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(ValueError, match=r"validate must run in one process, got 3 \(WORLD_SIZE\)"):
        require_one_process("validate")
