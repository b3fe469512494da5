"""How many threads compute, from what others leave of the cores."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from estimator.timing import threads
from estimator.timing.threads import Threads, computing, free_cores, free_threads


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Returns a function that makes a machine whose cores are so busy, per cent of their time."""

    def make(busy: list[float], *, quota: str = "max 100000") -> None:
        allowed = tmp_path / "cpu.max"
        allowed.write_text(quota)
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        monkeypatch.setattr(threads, "QUOTA", allowed)
        monkeypatch.setattr(threads, "_own_cores", lambda: set(range(min(8, len(busy)))))
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
