"""Trials end when they are precise enough or the time is up, and return what was run."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

from engines.trials.running import run_trial
from engines.trials.trial import Trial
from estimator.settings import TimingSettings
from tests.engines.made_engine import MadeEngine
from tests.engines.made_trials import GAMMA, made_trial

PROMPTS, REPEATS = 4, 3


@dataclass
class Told:
    """Progress that remembers."""

    expected: int = 0
    steps: int = 0
    notes: list[str] = field(default_factory=list)

    def expect(self, steps: int) -> None:
        self.expected += steps

    def step(self, count: int = 1) -> None:
        self.steps += count

    def note(self, text: str) -> None:
        self.notes.append(text)


def ran(told: Told, *, precision: float | None, seconds: float = 1e9, **settings: Any) -> Trial:
    timing = TimingSettings(repeats=REPEATS, precision=precision, time_limit=seconds)
    return run_trial(
        MadeEngine(accepted=1.0),
        made_trial(prompts=PROMPTS, timing=timing, **settings),
        progress=told,
    )


@pytest.mark.parametrize(("precision", "servers"), [(-1.0, "together"), (None, "in-turn")])
@pytest.mark.parametrize(
    ("settings", "prompts", "repeats"),
    [
        ({}, PROMPTS, REPEATS),
        ({"seconds": 0.0}, 2, 1),
        ({"seconds": 0.0, "concurrencies": (2,)}, PROMPTS, 1),
        ({"seconds": 0.0, "concurrencies": (1, 2)}, PROMPTS, 1),
    ],
)
def test_only_prompts_that_every_server_reached_count(
    settings: dict[str, Any], prompts: int, repeats: int, precision: float | None, servers: str
) -> None:
    told = Told()
    trial = ran(told, servers=servers, precision=precision, **settings)
    assert (len(trial.prompts), len(trial.other_prompts)) == (prompts, prompts)
    assert (trial.repeats, trial.version) == (repeats, "1")
    cells = {(use, gamma) for use in ("rows", "priced") for gamma in (0, GAMMA)}
    for case in trial.cases:
        assert set(trial.runs[case]) == cells
        for runs in trial.runs[case].values():
            assert [len(run.completions) for run in runs] == [prompts] * repeats
    assert told.steps == told.expected


@pytest.mark.parametrize("limit", range(3, 8))
def test_temperatures_run_the_same_prompts_whenever_the_time_is_up(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = count()
    monkeypatch.setattr("time.monotonic", lambda: float(next(ticks)))
    trial = ran(Told(), precision=None, seconds=limit, servers="together", temperatures=(0.0, 1.0))
    assert {
        len(runs[0].completions) for cells in trial.runs.values() for runs in cells.values()
    } == {len(trial.prompts)}


def test_repeats_end_once_they_are_precise() -> None:
    told = Told()
    trial = ran(told, precision=0.1)
    assert (trial.repeats, told.notes) == (1, ["precise to 0.0 %"])
    # One after the other, no speed-up is known before the last server has run.
    assert ran(Told(), precision=None, servers="in-turn").repeats == REPEATS


def test_a_server_that_drafts_another_number_of_tokens_is_refused() -> None:
    trial = made_trial(prompts=PROMPTS, tokens=400)
    message = f"gamma must be what the server drafts, 2.0 tokens a block, got {GAMMA}"
    with pytest.raises(ValueError, match=message):
        run_trial(MadeEngine(longest=2), trial, progress=Told())
