"""The plan of a validation on an engine, and its runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from engines.engine import Setting
from engines.kind import EngineKind
from engines.trials.runs import EngineRun, Prompts
from estimator.timing.rates import LEAST_PROMPTS
from estimator.traces.traces import DraftSampling

# Temperature and concurrency.
Case = tuple[float, int]
# Whether a prompt is one that prices are taken from, or one that is predicted; and γ.
Use = Literal["priced", "rows"]
Cell = tuple[Use, int]
WARM_UP_PROMPTS = 2


@dataclass(frozen=True, slots=True)
class Trial:
    """The runs of a validation.

    prompts: prompts to predict; other_prompts: prompts for the timings.
    gammas: a row for each, at least 1.
    priced_gammas: the γ that prices are measured at.
    repeats: at most.
    precision_percent: that is enough, of `PassTimes.precision_percent`.
    seconds: after which no more turns begin.
    synthetic: acceptance rates by position to simulate, for the largest gamma.
    together: whether the servers of all γ run at once, all but one of them idle, or in turn.
    """

    kind: EngineKind
    target: str
    draft: str
    prompts: Prompts
    other_prompts: Prompts
    gammas: tuple[int, ...]
    priced_gammas: tuple[int, ...]
    temperatures: tuple[float, ...]
    concurrencies: tuple[int, ...]
    draft_sampling: DraftSampling
    max_new_tokens: int
    repeats: int
    seed: int
    precision_percent: float = 0.0
    seconds: float = math.inf
    synthetic: tuple[float, ...] | None = None
    together: bool = False

    def __post_init__(self) -> None:
        if min(self.gammas, default=1) < 1:
            raise ValueError(f"gamma must be at least 1 with --engine, got {min(self.gammas)}")
        if min(self.concurrencies) < 1:
            raise ValueError(f"concurrency must be at least 1, got {min(self.concurrencies)}")
        least = min(len(self.prompts), len(self.other_prompts))
        if max(self.concurrencies) > least:
            raise ValueError(
                f"concurrency must be at most the number of prompts, {least} here, of those that "
                f"are predicted and of those that are priced, got {max(self.concurrencies)}"
            )
        if self.max_new_tokens < 2:
            raise ValueError(
                "max-new-tokens must be at least 2 with --engine, the first token being the "
                f"prompt's, got {self.max_new_tokens}"
            )
        rates = self.synthetic
        if rates is None:
            return
        if len(rates) < max(self.gammas):
            raise ValueError(
                f"synthetic must have a rate for each of {max(self.gammas)} positions, "
                f"got {len(rates)}"
            )
        if not all(0 <= rate <= 1 for rate in rates) or list(rates) != sorted(rates)[::-1]:
            raise ValueError(
                "synthetic must be rates in [0, 1] of which none is above the one before it, "
                f"got {', '.join(f'{rate:g}' for rate in rates)}"
            )

    def setting(self, gamma: int) -> Setting:
        """Returns how a server of this γ is to decode."""
        return Setting(
            gamma,
            self.draft_sampling,
            max(self.concurrencies),
            synthetic=None if self.synthetic is None or gamma == 0 else self.synthetic[:gamma],
        )

    @property
    def served_gammas(self) -> tuple[int, ...]:
        """Every γ that a server is started for, 0 (no speculation) first."""
        return tuple(sorted({0, *self.gammas, *self.priced_gammas}))

    @property
    def cases(self) -> list[Case]:
        """Temperature and concurrency, every combination."""
        return [(t, c) for t in self.temperatures for c in self.concurrencies]

    def cells(self, gammas: Sequence[int]) -> list[Cell]:
        """Returns what a turn runs of these γ: a use of prompts and a γ each."""
        return [
            *(("priced", gamma) for gamma in gammas if gamma in (0, *self.priced_gammas)),
            *(("rows", gamma) for gamma in gammas if gamma in (0, *self.gammas)),
        ]

    def prompts_of(self, use: Use) -> Prompts:
        """Returns the prompts of a use."""
        return self.prompts if use == "rows" else self.other_prompts

    @property
    def turns(self) -> list[tuple[Case, slice]]:
        """Case and prompts of every turn of a repeat, in their order: all cases get on together.

        A turn is one prompt, or all of them where some run at once.
        """
        longest = max(len(self.prompts), len(self.other_prompts))
        found = []
        for case in self.cases:
            size = 1 if case[1] == 1 else longest
            found += [(case, slice(start, start + size)) for start in range(0, longest, size)]
        return sorted(found, key=lambda each: each[1].start)

    @property
    def least_prompts(self) -> int:
        """How many prompts of each kind run however long they take."""
        longest = max(len(self.prompts), len(self.other_prompts))
        return LEAST_PROMPTS if max(self.concurrencies) == 1 else longest

    def of_prompts(self, count: int) -> Trial:
        """Returns the trial of only the first prompts of each kind."""
        return replace(self, prompts=self.prompts[:count], other_prompts=self.other_prompts[:count])

    @property
    def texts(self) -> int:
        """How many texts are written in all."""
        runs = len(self.cases) * self.repeats
        warm = len(self.cases) * len(self.other_prompts[:WARM_UP_PROMPTS])
        total = warm * len(self.served_gammas)
        for use, _ in self.cells(self.served_gammas):
            total += runs * len(self.prompts_of(use))
        return total


@dataclass(slots=True)
class Measured:
    """Runs by γ and case (temperature, concurrency), one for each repeat."""

    version: str = ""
    rows: dict[tuple[int, Case], list[EngineRun]] = field(default_factory=dict)
    priced: dict[tuple[int, Case], list[EngineRun]] = field(default_factory=dict)

    def of(self, use: Use) -> dict[tuple[int, Case], list[EngineRun]]:
        """Returns the runs of a use of prompts."""
        return self.rows if use == "rows" else self.priced

    def add(self, cell: Cell, case: Case, repeat: int, run: EngineRun) -> None:
        """Adds some prompts of a repeat."""
        use, gamma = cell
        runs = self.of(use).setdefault((gamma, case), [])
        if len(runs) <= repeat:
            runs.append(run)
        else:
            runs[repeat] += run


def priced_gammas(gammas: tuple[int, ...]) -> tuple[int, ...]:
    """Returns at which of the γ prices are taken: the outer two, and one that checks their line.

    Args:
      gammas: the γ of the rows, at least one.
    """
    ordered = sorted(set(gammas))
    return tuple(sorted({ordered[0], ordered[len(ordered) // 2], ordered[-1]}))
