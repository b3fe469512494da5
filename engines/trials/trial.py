"""The plan of a trial on an engine, and the runs that it collects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from engines.engine import Setting
from engines.kind import EngineKind
from engines.trials.request import MeasureEngine, ValidateEngine
from engines.trials.runs import EngineRun, Prompts
from estimator.timing.rates import LEAST_PROMPTS

# A temperature and a concurrency.
Case = tuple[float, int]
# The use of prompts: to time steps, or to predict rows.
Use = Literal["priced", "rows"]
Cell = tuple[Use, int]
WARM_UP_PROMPTS = 2


@dataclass(frozen=True, slots=True)
class Trial:
    """The runs of a request on an engine: as planned, or as far as there was time.

    kind: the request's engine.
    target, draft: names of the models.
    prompts: prompts whose decoding is predicted.
    other_prompts: prompts on which steps are timed.
    repeats: number of repeats, at most.
    seconds: time after which no more turns begin.
    """

    request: ValidateEngine | MeasureEngine
    kind: EngineKind
    target: str
    draft: str
    prompts: Prompts
    other_prompts: Prompts
    repeats: int
    seconds: float = math.inf

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
        new_tokens = self.request.text.max_new_tokens
        if new_tokens < 2:
            raise ValueError(
                "max-new-tokens must be at least 2 with --engine, the first token being the "
                f"prompt's, got {new_tokens}"
            )
        rates = self.request.synthetic
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

    @property
    def gammas(self) -> tuple[int, ...]:
        """The γ to predict, each at least 1."""
        return tuple(dict.fromkeys(self.request.gammas))

    @property
    def concurrencies(self) -> tuple[int, ...]:
        """The distinct numbers of simultaneous requests."""
        return tuple(dict.fromkeys(self.request.engine.concurrencies))

    @property
    def temperatures(self) -> tuple[float, ...]:
        return tuple(dict.fromkeys(self.request.temperatures))

    def setting(self, gamma: int) -> Setting:
        rates = self.request.synthetic
        return Setting(
            gamma,
            self.request.draft_sampling,
            max(self.concurrencies),
            synthetic=None if rates is None or gamma == 0 else rates[:gamma],
        )

    @property
    def served_gammas(self) -> tuple[int, ...]:
        """The γ of all servers, ascending from 0 (no speculation)."""
        return tuple(sorted({0, *self.gammas, *self.request.priced_gammas}))

    @property
    def cases(self) -> list[Case]:
        """Every combination of temperature and concurrency."""
        return [(t, c) for t in self.temperatures for c in self.concurrencies]

    def cells(self, gammas: Sequence[int]) -> list[Cell]:
        """Returns the cells that a turn runs at these γ."""
        return [
            *(("priced", gamma) for gamma in gammas if gamma in (0, *self.request.priced_gammas)),
            *(("rows", gamma) for gamma in gammas if gamma in (0, *self.gammas)),
        ]

    def prompts_of(self, use: Use) -> Prompts:
        return self.prompts if use == "rows" else self.other_prompts

    @property
    def turns(self) -> list[tuple[Case, slice]]:
        """Case and prompts of every turn of a repeat, in order; cases alternate.

        A turn has one prompt, or all prompts if the case runs several at once.
        """
        longest = max(len(self.prompts), len(self.other_prompts))
        found = []
        for case in self.cases:
            size = 1 if case[1] == 1 else longest
            found += [(case, slice(start, start + size)) for start in range(0, longest, size)]
        return sorted(found, key=lambda each: each[1].start)

    @property
    def least_prompts(self) -> int:
        """Number of prompts of each use that run in any case, even beyond the time limit."""
        longest = max(len(self.prompts), len(self.other_prompts))
        return LEAST_PROMPTS if max(self.concurrencies) == 1 else longest

    def of_prompts(self, count: int) -> Trial:
        """Returns the trial with only the first prompts of each use."""
        return replace(self, prompts=self.prompts[:count], other_prompts=self.other_prompts[:count])

    @property
    def texts(self) -> int:
        """Number of texts to write."""
        runs = len(self.cases) * self.repeats
        warm = len(self.cases) * len(self.other_prompts[:WARM_UP_PROMPTS])
        total = warm * len(self.served_gammas)
        for use, _ in self.cells(self.served_gammas):
            total += runs * len(self.prompts_of(use))
        return total


@dataclass(slots=True)
class Measured:
    """The runs of a trial, by γ and case, one for each repeat.

    rows: runs of predicted prompts; priced: runs of timed prompts.
    """

    version: str = ""
    rows: dict[tuple[int, Case], list[EngineRun]] = field(default_factory=dict)
    priced: dict[tuple[int, Case], list[EngineRun]] = field(default_factory=dict)

    def of(self, use: Use) -> dict[tuple[int, Case], list[EngineRun]]:
        return self.rows if use == "rows" else self.priced

    def add(self, cell: Cell, case: Case, repeat: int, run: EngineRun) -> None:
        """Adds the run of some prompts of a repeat."""
        use, gamma = cell
        runs = self.of(use).setdefault((gamma, case), [])
        if len(runs) <= repeat:
            runs.append(run)
        else:
            runs[repeat] += run
