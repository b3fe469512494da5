"""The precision of measured speed-ups, and when it is enough."""

from dataclasses import replace

import numpy as np
import pytest

from estimator.progress import Progress
from estimator.settings import TimedPair, TimingSettings
from estimator.timing import rates
from estimator.timing.precision import Timing, precision_percent, timings
from reference.records import Block, Generation
from simulator.cost.curves import CostModel

BLOCK = Block(0, (), (1,), 0, 0.0, 0.010, 0.0, None)
PROMPTS, BLOCKS, TRIALS = 6, 8, 400


def text(seconds: np.ndarray, drafted: int = 0) -> Generation:
    block = replace(BLOCK, gamma=drafted, drafted=(1,) * drafted)
    return Generation((0,), tuple(replace(block, verify_seconds=s) for s in seconds), 0.0)


def drawn(source: np.random.Generator, spread: float) -> dict[str, list[Generation]]:
    """Returns texts on a clock whose every reading is off by a share of its own, and a prompt's."""

    def rows(seconds: float, blocks: int, drafted: int) -> list[Generation]:
        return [
            text(seconds * np.exp(source.normal(0, spread) + source.normal(0, spread, blocks)),
                 drafted)
            for _ in range(PROMPTS)
        ]  # fmt: skip

    return {"baseline": rows(0.01, 2 * BLOCKS, 0), "gamma 2": rows(0.014, BLOCKS, 2)}


def test_speed_ups_are_off_by_more_than_the_precision_in_one_of_twenty_runs() -> None:
    source = np.random.default_rng(0)
    beyond = 0
    for _ in range(TRIALS):
        texts = drawn(source, 0.05)
        seconds = [sum(run.decode_seconds for run in texts[arm]) for arm in texts]
        found = seconds[0] / seconds[1] / (2 * 0.01 / 0.014)
        reach = precision_percent(texts)
        assert reach is not None
        beyond += abs(np.log(found)) > np.log1p(reach / 100)
    # 5 % of 400 are 20; 2 to 38 except once in 30,000 times (four deviations of 4.36).
    assert 2 <= beyond <= 38


def test_differences_between_prompts_are_no_timing_noise() -> None:
    """Texts of all lengths and mixtures of blocks, on a clock that is exact."""
    lengths = ((0, 4), (4, 4), (9, 1))
    mixed = [
        Generation((0,), text(np.full(a, 0.02), 2).blocks + text(np.full(b, 0.01)).blocks, 0.0)
        for a, b in lengths
    ]
    texts = {"baseline": [text(np.full(n, 0.01)) for n in (5, 9, 30)], "lookup": mixed}
    assert precision_percent(texts) == pytest.approx(0, abs=1e-9)


def test_of_a_single_prompt_nothing_is_known() -> None:
    texts = {arm: rows[:1] for arm, rows in drawn(np.random.default_rng(1), 0.1).items()}
    assert precision_percent(texts) is None
    assert not Timing(percent=1e9).precise(None)


def test_runs_end_at_the_requested_precision_and_report_it() -> None:
    told: list[str] = []
    assert Timing(percent=1.5, report=told.append).precise(1.49)
    assert not Timing(percent=1.5).precise(1.51)
    assert told == ["precise to 1.5 %"]


def test_it_is_late_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [50.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    timing = Timing(seconds=3)
    assert not timing.late()
    assert not timing.late(2.9)
    assert timing.late(3.1)
    now[0] = 53.0
    assert timing.late()
    assert not Timing().late()


@pytest.mark.parametrize(
    ("seconds", "exact_after", "ran"),
    [
        (np.inf, 9, 9),
        (np.inf, 2, 6),
        # Two of three tasks always run; each takes a second.
        (0, 9, 2),
        (2.5, 9, 3),
        # A repeat begins only if there is time for all of it.
        (6, 9, 3),
        (6.1, 9, 6),
    ],
)
def test_arms_take_turns_until_they_are_exact_or_late(
    seconds: float, exact_after: int, ran: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [50.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    exact = iter([False] * (exact_after - 1) + [True] * 9)
    order = np.random.default_rng(0)
    turns = []
    for turn in Timing(3, seconds=seconds).turns("abc", range(9), order, exact=lambda: next(exact)):
        turns.append(turn)
        now[0] += 1.0
    assert [turn[:2] for turn in turns] == [(n // 3, "abc"[n % 3]) for n in range(ran)]
    assert all(sorted(arms) == list(range(9)) for _, _, arms in turns)
    assert len({tuple(arms) for _, _, arms in turns}) == ran


def test_each_pair_may_take_its_share_of_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first of three pairs may take 20 of 60 seconds; it takes 10, so the next may take 25."""
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)

    class Total(Progress):
        steps = expected = 0

        def expect(self, steps: int) -> None:
            self.expected += steps

        def step(self, count: int = 1) -> None:
            self.steps += count

    def late_after(seconds: float) -> bool:
        nonlocal now
        began, now = now, now + seconds
        late, now = timing.late(), began
        return late

    total = Total()
    total.expect(3 * 7)
    request = TimedPair(timing=TimingSettings(repeats=4, time_limit=60.0), seed=5)
    shares = iter([20.0, 25.0, 45.0])
    for timing in timings(request, count=3, planned=7, progress=total):
        share = next(shares)
        assert (timing.repeats, timing.seed) == (4, 5)
        assert not late_after(share - 0.1)
        assert late_after(share + 0.1)
        for _ in range(2):
            timing.progress()
        now += 10 if share == 20 else 5
    assert total.steps == total.expected == 6


def test_steps_out_of_order_leave_out_each_prompt_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def cost(seconds: float) -> CostModel:
        return CostModel(target_seconds={1: 0.9, 2: 1.0, 3: seconds}, draft_seconds=0.0)

    def found(*without: float) -> dict[int, str]:
        # The cost of all prompts, then the cost without each of them.
        costs = [cost(0.9), *map(cost, without)]
        monkeypatch.setattr(rates, "jackknifed_costs", lambda texts: costs)
        return rates.out_of_order({}, [1, 2])

    # Two prompts: Student's t with one degree of freedom makes the second interval reach past 1.
    assert set(found(0.895, 0.905)) == {1, 2}
    assert found(0.88, 0.92) == {}
