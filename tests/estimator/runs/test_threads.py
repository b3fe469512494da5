"""How many threads compute, from what others leave of the cores."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from estimator.runs import threads
from estimator.runs.threads import Threads, computing, free_cores, free_threads

Ticks = dict[int, tuple[int, int]]   # core -> busy and idle ticks of the watched time


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Returns a function that makes a machine whose cores are watched for a hundred ticks."""

    def make(ticks: Ticks, *, quota: str = "max 100000") -> None:
        statistics, allowed = tmp_path / "stat", tmp_path / "cpu.max"

        def write(share: int) -> None:
            lines = [
                f"cpu{core} {700 + share * busy} 0 0 {9000 + share * idle} 0 0 0 0 0 0"
                for core, (busy, idle) in ticks.items()
            ]
            statistics.write_text("\n".join(["cpu  1 2 3 4 5 6 7 8 9 0", *lines, "ctxt 5"]))

        write(0)
        allowed.write_text(quota)
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        monkeypatch.setattr(threads, "STATISTICS", statistics)
        monkeypatch.setattr(threads, "QUOTA", allowed)
        monkeypatch.setattr(threads, "_own_cores", lambda: set(range(min(8, len(ticks)))))
        monkeypatch.setattr("time.sleep", lambda _: write(1))

    return make


QUIET: Ticks = dict.fromkeys(range(8), (1, 99))


@pytest.mark.parametrize(
    ("ticks", "quota", "free", "count"),
    [
        (QUIET, "max 100000", 7.92, 7),
        (QUIET | dict.fromkeys((0, 3, 4), (100, 0)), "max 100000", 4.95, 4),
        (QUIET, "250000 100000", 2.5, 1),
        ({0: (0, 100), 1: (10, 90)}, "max 100000", 1.9, 1),
        ({0: (100, 0), 1: (100, 0)}, "max 100000", 0.0, 1),
        # Those beyond its own are others' alone.
        (QUIET | {8: (100, 0), 9: (0, 100)}, "max 100000", 7.92, 7),
    ],
)
def test_as_many_threads_as_cores_are_free_less_one(
    machine: Callable[..., None], ticks: Ticks, quota: str, free: float, count: int
) -> None:
    machine(ticks, quota=quota)
    assert free_cores() == pytest.approx(free)
    machine(ticks, quota=quota)
    found = free_threads(most=16)
    assert (found.count, found.free) == (count, pytest.approx(free))


def test_no_more_threads_than_are_of_use(machine: Callable[..., None]) -> None:
    machine(QUIET)
    assert free_threads(most=4).count == 4


def test_without_ticks_the_load_average_stands_in(
    machine: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(QUIET)
    monkeypatch.setattr(threads, "STATISTICS", tmp_path / "none")
    monkeypatch.setattr("os.getloadavg", lambda: (2.5, 0.0, 0.0), raising=False)
    assert free_cores() == 5.5


def test_a_number_that_was_chosen_is_taken_and_nothing_watched(
    monkeypatch: pytest.MonkeyPatch
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
    assert Threads(4, 8).sentence == "4 threads, as asked for."
