"""The machine's changing speed is divided out of runs in turns."""

import time
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
import pytest
import torch
from numpy.typing import ArrayLike, NDArray

from estimator.timing.arms import Speculative, probing, run_arms
from estimator.timing.precision import Timing, polish
from estimator.timing.rates import AGAIN, BASELINE, Timed, timed
from estimator.timing.turns import (
    InTurns,
    at_one_speed,
    decode_in_turns,
    next_block,
    processor_clock,
)
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling
from reference.policies import Fixed
from reference.records import Block, Generation, Stopping
from reference.speculative import Session, Subject
from tests.reference.tabular import TabularModel

SECONDS = {"baseline": 0.010, "gamma 1": 0.013, "gamma 2": 0.016, "gamma 4": 0.022}


def text(arm: str, speeds: np.ndarray) -> InTurns:
    """Returns an arm's text, a block a round, at these speeds; the prompt was read in the first."""
    drafted = (1,) * int(arm.split()[-1]) if " " in arm else ()
    blocks = tuple(
        Block(len(drafted), drafted, (1,), 0, 0.2 * s, 0.7 * s, 0.1 * s, None)
        for s in SECONDS[arm] * speeds
    )
    return Generation((0,), blocks, 0.05 * speeds[0]), tuple(range(len(speeds)))


def test_blocks_of_the_last_few_texts_are_of_the_last_round() -> None:
    """One of three texts is longer: its blocks after the others' end show no round's speed."""

    def start(length: int) -> Callable[[], Session]:
        endings = [*[None] * (length - 1), "length"]
        blocks = (Block(0, (), (1,), 0, 0.0, 0.1, 0.0, ending) for ending in endings)
        return lambda: Session([0], 0.0, iter(blocks))

    starts = [start(length) for length in (2, 2, 5)]
    texts = decode_in_turns(starts, tokens=1, order=np.random.default_rng(0), first_round=7)
    assert [rounds for _, rounds in texts] == [(7, 8), (7, 8), (7, 8, 8, 8, 8)]


def test_speeds_of_rounds_leave_no_trace() -> None:
    source = np.random.default_rng(0)
    speeds = np.append(source.uniform(1, 2, 24), 1.0)
    middle = np.median(speeds)
    for arm, found in zip(
        SECONDS, at_one_speed([(arm, text(arm, speeds)) for arm in SECONDS]), strict=True
    ):
        assert [block.seconds for block in found.blocks] == pytest.approx(
            [middle * SECONDS[arm]] * 25
        )
        assert found.prefill_seconds == pytest.approx(0.05 * middle)
        for block in found.blocks:
            assert block.verify_seconds == pytest.approx(0.7 * block.seconds)


def test_at_one_speed_all_along_nothing_changes() -> None:
    """Differences of blocks that are not their round's remain, and so do ratios of arms."""
    source = np.random.default_rng(1)
    runs = [(arm, text(arm, np.exp(source.normal(0, 0.02, 40)))) for arm in SECONDS]
    for (_, before), after in zip(runs, at_one_speed(runs), strict=True):
        # A round's speed is a median of four kinds at 2 %: 1.1 %; the mean of 40 is within 4 errors
        # of (2 % + 1.1 %) / sqrt(40).
        assert after.decode_seconds == pytest.approx(before[0].decode_seconds, rel=0.02)
    constant = [(arm, text(arm, np.ones(9))) for arm in SECONDS]
    for (_, before), after in zip(constant, at_one_speed(constant), strict=True):
        assert [b.seconds for b in after.blocks] == pytest.approx(
            [b.seconds for b in before[0].blocks], rel=1e-12
        )


@pytest.mark.parametrize(("arms", "rounds"), [(1, 20), (2, 20), (4, 3)])
def test_where_little_is_known_nothing_is_corrected(arms: int, rounds: int) -> None:
    speeds = np.random.default_rng(2).uniform(1, 2, rounds)
    runs = [(arm, text(arm, speeds)) for arm in list(SECONDS)[:arms]]
    assert at_one_speed(runs) == [text for _, (text, _) in runs]


class Machine:
    """A clock that passes advance, on a machine whose speed jumps."""

    def __init__(self, speed: Callable[[float], float]) -> None:
        self.now = 0.0
        self.speed = speed

    def perf_counter(self) -> float:
        return self.now

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def work(self, seconds: float) -> None:
        self.now += seconds * self.speed(self.now)


class Slow(TabularModel):
    """Each pass takes its seconds of a machine, a tenth of them more for each further token."""

    def __init__(self, machine: Machine, name: str, seconds: float) -> None:
        super().__init__(lambda text: [0.6, 0.4] if text[-1] else [0.3, 0.7], 2, name)
        self.machine = machine
        self.seconds = seconds

    def extend(self, tokens: torch.Tensor, parents: Sequence[int] | None = None) -> torch.Tensor:
        self.machine.work(self.seconds * (0.9 + 0.1 * len(tokens)))
        return super().extend(tokens, parents)


def steady(_: float) -> float:
    return 1.0


def jumping(seconds: float) -> float:
    """Between half speed and full speed, a second each, and all slower for long."""
    return 1.0 + (np.sin(3 * seconds) > 0) + 0.5 * (int(seconds / 20) % 2)


def ran(monkeypatch: pytest.MonkeyPatch, speed: Callable[[float], float]) -> Timed:
    machine = Machine(speed)
    monkeypatch.setattr("reference.speculative.time", machine)
    monkeypatch.setattr("estimator.timing.turns.processor_clock", lambda _: None)
    sampling = Sampling()
    target = Slow(machine, "target", 0.010)
    drafter = ModelDrafter(Slow(machine, "draft", 0.001), sampling, 2)
    subject = Subject(target, drafter, sampling, Stopping(60))
    policies = {f"gamma {gamma}": Speculative(Fixed(gamma)) for gamma in (1, 4)}
    return timed(
        run_arms(subject, [[0, 1], [1, 1, 1], [0]], probing([1, 4]) | policies, Timing(repeats=3))
    )


@pytest.fixture(scope="module")
def steadily() -> Timed:
    """Returns the runs on a machine of one speed."""
    with pytest.MonkeyPatch.context() as patch:
        return ran(patch, steady)


def seconds(texts: Timed, arm: str) -> float:
    return sum(run.decode_seconds for run in texts[arm])


def test_speed_ups_on_a_machine_that_jumps_are_those_of_a_steady_one(
    steadily: Timed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For jumps anywhere: over thirds of the period the root mean square is below 2 %."""

    def gains(texts: Timed) -> NDArray[np.float64]:
        arms = ("gamma 1", "gamma 4", "probe 1", "probe 4", AGAIN)
        return np.array([seconds(texts, BASELINE) / seconds(texts, arm) for arm in arms])

    constant = gains(steadily)

    # Rounds of six turns, during which speed jumps now and then, leave up to 2.5 % over.
    def ahead_of(seconds: float) -> Callable[[float], float]:
        return lambda now: jumping(now + seconds)

    errors = [
        gains(ran(monkeypatch, ahead_of(seconds))) / constant - 1 for seconds in (0.0, 0.7, 1.4)
    ]
    assert (np.mean(np.square(errors), axis=0) < 0.02**2).all()


def test_next_to_nothing_is_corrected_on_a_steady_machine(
    steadily: Timed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of one kind may differ (a draft reads one token or two), and rounds with them."""
    monkeypatch.setattr(
        "estimator.timing.turns.at_one_speed", lambda runs: [text for _, (text, _) in runs]
    )
    plain = ran(monkeypatch, steady)
    for arm in plain:
        assert seconds(steadily, arm) == pytest.approx(seconds(plain, arm), rel=2e-3)


ALONE, SHORT, LONG = TRUE = (1.3, 3.5, 7.2)


def levels(seconds: ArrayLike) -> NDArray[np.float64]:
    return polish(seconds)[0]


def rows_of(generator: np.random.Generator, *, turns: int, noise: float) -> NDArray[np.float64]:
    """Returns times at speeds that change by turn, up to twofold, shape (3, turns)."""
    speeds = generator.uniform(1, 2, turns)
    return np.outer(TRUE, speeds) * np.exp(generator.normal(0, noise, (3, turns)))


def test_speeds_of_turns_leave_no_trace_in_ratios() -> None:
    alone, short, long = levels(rows_of(np.random.default_rng(0), turns=9, noise=0.0))
    assert (long / alone, short / alone) == pytest.approx((LONG / ALONE, SHORT / ALONE))


def test_levels_are_those_of_the_median_speed() -> None:
    assert levels([[1.0, 2.0, 4.0], [3.0, 6.0, 12.0]]) == pytest.approx([2.0, 6.0])
    assert levels([[5.0]]) == pytest.approx([5.0])


def test_speeds_are_relative_to_the_median_one() -> None:
    _, speeds = polish([[1.0, 2.0, 4.0, np.nan], [3.0, 6.0, 12.0, np.nan]])
    assert speeds[:3] == pytest.approx([0.5, 1.0, 2.0])
    assert np.isnan(speeds[3])


def test_a_delay_of_one_text_changes_nothing() -> None:
    rows = rows_of(np.random.default_rng(1), turns=25, noise=0.01)
    rows[1, 3] *= 30
    alone, short, _ = levels(rows)
    # The noise of a median of 25 at 1 %, four standard errors of the two.
    assert short / alone == pytest.approx(SHORT / ALONE, rel=0.015)


def test_a_turn_that_lacks_a_thing_counts_for_the_others() -> None:
    assert levels([[1.0, 1.0, 9.0], [2.0, 2.0, np.nan]]) == pytest.approx([1.0, 2.0])


def test_several_tables_are_polished_each_on_its_own() -> None:
    tables = np.stack([rows_of(np.random.default_rng(n), turns=7, noise=0.1) for n in range(3)])
    np.testing.assert_array_equal(levels(tables), [levels(table) for table in tables])


BLOCK = Block(1, (5,), (5, 7), 1, 0.1, 0.3, 0.1, None)


def test_a_block_takes_its_clocks_time_and_its_parts_a_proportion() -> None:
    """Put aside for half of the wall's time, each part took half as long."""
    times = iter([3.0, 3.25])
    block = next_block(iter([BLOCK]), lambda: next(times))
    assert block.seconds == pytest.approx(0.25)
    assert (block.draft_seconds, block.verify_seconds) == pytest.approx((0.05, 0.15))
    assert next_block(iter([BLOCK]), None) is BLOCK


@pytest.mark.parametrize(("device", "threads"), [("cuda", 1), ("cpu", 2)])
def test_work_that_waits_for_others_is_timed_by_wall_time(
    device: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    assert processor_clock(torch.device(device)) is None


def test_without_a_fine_clock_of_a_thread_the_wall_clock_times_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert processor_clock(torch.device("cpu")) is time.thread_time
    monkeypatch.delattr(time, "CLOCK_THREAD_CPUTIME_ID")
    assert processor_clock(torch.device("cpu")) is None
