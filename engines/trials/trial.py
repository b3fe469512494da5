"""A trial on an engine: the planned runs of a request, and the completed runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Literal

from engines.engine import Case, EngineRun, EngineServer, Prompts, Setting, run
from engines.kind import EngineKind
from engines.text_scores import Text
from engines.trials.request import MeasureEngine, ValidateEngine

# The use of prompts: to time steps ("priced"), or to compare with predictions ("rows").
Use = Literal["priced", "rows"]
# A use and a γ.
Cell = tuple[Use, int]


@dataclass(frozen=True, slots=True)
class Trial:
    """The runs of a request on an engine, planned and completed.

    target, draft: names of the models.
    prompts: prompts whose decoding is predicted.
    other_prompts: prompts on which steps are timed.
    repeats: number of repeats, at most.
    runs: completed runs, one for each repeat, by case (temperature, concurrency) and by cell (use
      of the prompts, γ).
    version: the engine's version; empty before a run.
    """

    request: ValidateEngine | MeasureEngine
    target: str
    draft: str
    prompts: Prompts
    other_prompts: Prompts
    repeats: int
    runs: dict[Case, dict[Cell, list[EngineRun]]] = field(default_factory=dict)
    version: str = ""

    def __post_init__(self) -> None:
        gammas, concurrencies, rates = self.gammas, self.concurrencies, self.request.synthetic
        if min(gammas, default=1) < 1:
            raise ValueError(f"gamma must be at least 1 with --engine, got {min(gammas)}")
        if min(concurrencies) < 1:
            raise ValueError(f"concurrency must be at least 1, got {min(concurrencies)}")
        least = min(len(self.prompts), len(self.other_prompts))
        if max(concurrencies) > least:
            raise ValueError(
                f"concurrency must be at most the number of prompts, {least} here, of those that "
                f"are predicted and of those that are priced, got {max(concurrencies)}"
            )
        if self.request.text.max_new_tokens < 2:
            raise ValueError(
                "max-new-tokens must be at least 2 with --engine, the first token being the "
                f"prompt's, got {self.request.text.max_new_tokens}"
            )
        if rates is not None and len(rates) < max(gammas):
            raise ValueError(
                f"synthetic must have a rate for each of {max(gammas)} positions, got {len(rates)}"
            )
        if rates is not None and not all(a >= b for a, b in pairwise((1, *rates, 0))):
            raise ValueError(
                "synthetic must be rates in [0, 1] of which none is above the one before it, "
                f"got {', '.join(f'{rate:g}' for rate in rates)}"
            )

    @property
    def kind(self) -> EngineKind:
        return self.request.kind

    @property
    def gammas(self) -> tuple[int, ...]:
        """The distinct γ to predict, each at least 1."""
        return tuple(dict.fromkeys(self.request.gammas))

    @property
    def concurrencies(self) -> tuple[int, ...]:
        """The distinct numbers of simultaneous requests."""
        return tuple(dict.fromkeys(self.request.engine.concurrencies))

    @property
    def temperatures(self) -> tuple[float, ...]:
        return tuple(dict.fromkeys(self.request.temperatures))

    @property
    def cases(self) -> list[Case]:
        """Every combination of temperature and concurrency."""
        return list(product(self.temperatures, self.concurrencies))

    @property
    def sharing(self) -> list[tuple[int, ...]]:
        """Groups of γ whose servers run at the same time: one group of all, or one for each γ."""
        gammas = sorted({0, *self.gammas, *self.request.priced_gammas})
        return [tuple(gammas)] if self.request.together else [(gamma,) for gamma in gammas]

    def setting(self, gamma: int) -> Setting:
        rates, most = self.request.synthetic, max(self.concurrencies)
        simulated = None if rates is None or gamma == 0 else rates[:gamma]
        return Setting(gamma, self.request.draft_sampling, most, synthetic=simulated)

    def cells(self, gammas: Sequence[int]) -> list[Cell]:
        """Returns the cells of these γ: each use of prompts for which a γ runs, with that γ."""
        uses: dict[Use, Sequence[int]] = {
            "priced": (0, *self.request.priced_gammas), "rows": (0, *self.gammas),
        }  # fmt: skip
        return [(use, gamma) for use, own in uses.items() for gamma in gammas if gamma in own]

    def prompts_of(self, use: Use) -> Prompts:
        return self.prompts if use == "rows" else self.other_prompts

    @property
    def turns(self) -> list[tuple[Case, slice]]:
        """The case and the slice of prompts of every turn of a repeat, in order; cases alternate.

        A turn has one prompt, or all prompts if the case runs several at once.
        """
        longest = max(len(self.prompts), len(self.other_prompts))
        sizes = {case: 1 if case[1] == 1 else longest for case in self.cases}
        return [
            (case, slice(start, start + size))
            for start in range(longest)
            for case, size in sizes.items()
            if start % size == 0
        ]

    def written(
        self,
        server: EngineServer,
        gamma: int,
        case: Case,
        prompts: Prompts,
        *,
        first: int,
        progress: Callable[[], object],
    ) -> EngineRun:
        """Returns the texts that a server writes; first: number that is added to the seed."""
        return run(
            server,
            prompts,
            case,
            speculative=gamma > 0,
            max_new_tokens=self.request.text.max_new_tokens,
            seed=self.request.seed + first,
            progress=progress,
        )

    def texts(self, own: EngineRun) -> list[Text]:
        """Returns each predicted prompt together with the text that a run wrote for it."""
        return list(zip(self.prompts, (text.tokens for text in own.completions), strict=True))

    def add(self, case: Case, cell: Cell, repeat: int, own: EngineRun) -> None:
        """Adds a run of some prompts to the runs of a repeat."""
        runs = self.runs.setdefault(case, {}).setdefault(cell, [])
        if len(runs) <= repeat:
            runs.append(own)
        else:
            runs[repeat] += own
