"""Trials end when they are precise enough or the time is up, and return what was run."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from made_trials import made_trial

from engines.counting import NOTHING, Counts
from engines.engine import Completion, Setting
from engines.trials.trial import Measured, Trial
from engines.trials.turns import run_trial

PROMPTS, REPEATS, GAMMA = 4, 3, 3
TOKENS = 1 + 2 * (GAMMA + 1)


@dataclass
class Served:
    """Writes zeros with every draft accepted; all steps take equally long."""

    gamma: int
    version: str = "1"
    model: None = None
    _counts: Counts = NOTHING

    def complete(self, prompt: tuple[int, ...], *, max_new_tokens: int, **_: object) -> Completion:
        blocks = (max_new_tokens - 1) // (self.gamma + 1)
        self._counts += Counts.of(blocks, blocks * self.gamma, (blocks,) * self.gamma)
        return Completion((0,) * max_new_tokens, 1, blocks * (1e-3 + 1e-3 * self.gamma))

    def counts(self) -> Counts:
        return self._counts


class Made:
    """An engine whose servers take no time."""

    flags = ()

    @contextmanager
    def serve(self, setting: Setting) -> Iterator[Served]:
        yield Served(setting.gamma)


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


def ran(told: Told, **settings: Any) -> tuple[Trial, Measured]:
    seconds = settings.pop("seconds", math.inf)
    trial = made_trial(gamma=GAMMA, prompts=PROMPTS, tokens=TOKENS, repeats=REPEATS, **settings)
    return run_trial(Made(), replace(trial, seconds=seconds), progress=told)


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(
    ("settings", "prompts", "repeats"),
    [
        ({}, PROMPTS, REPEATS),
        ({"seconds": 0.0}, 2, 1),
        ({"seconds": 0.0, "concurrencies": (2,)}, PROMPTS, 1),
        ({"seconds": 0.0, "concurrencies": (1, 2)}, PROMPTS, 1),
    ],
)
def test_what_there_was_time_for_is_what_every_server_wrote(
    settings: dict[str, object], prompts: int, repeats: int, together: bool
) -> None:
    told = Told()
    precision, servers = (-1.0, "together") if together else (None, "in-turn")
    trial, measured = ran(told, servers=servers, precision=precision, **settings)
    assert (len(trial.prompts), len(trial.other_prompts)) == (prompts, prompts)
    assert trial.repeats == repeats
    assert {key[0] for key in measured.rows} == {key[0] for key in measured.priced} == {0, GAMMA}
    for runs in (*measured.rows.values(), *measured.priced.values()):
        assert [len(each.completions) for each in runs] == [prompts] * repeats
    assert told.steps == told.expected


def test_repeats_end_once_they_are_precise() -> None:
    told = Told()
    trial, _ = ran(told, precision=0.1)
    assert (trial.repeats, told.notes) == (1, ["precise to 0.0 %"])
    # One after the other, no speed-up is known before the last server has run.
    assert ran(Told(), precision=None, servers="in-turn")[0].repeats == REPEATS
