"""A trial on an engine: the planned runs of a request, and the completed runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Literal

from engines.engine import Case, EngineRun, Prompts
from engines.kind import EngineKind
from engines.text_scores import Text
from engines.trials.request import MeasureEngine, ValidateEngine

# The use of prompts: to time steps ("priced"), or to compare with predictions ("rows").
Use = Literal["priced", "rows"]
# A use and a γ.
Cell = tuple[Use, int]


@dataclass(frozen=True, slots=True)
class Trial:
    """The planned and the completed runs of a request on an engine.

    target, draft: names of the models.
    prompts: prompts whose decoding is predicted.
    other_prompts: prompts on which steps are timed.
    repeats: number of repeats: the planned number, or the completed number after the run.
    runs: completed runs by case, cell (use of the prompts, γ) and repeat.
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
        gammas, rates = self.gammas, self.request.synthetic
        concurrencies = self.request.engine.concurrencies
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
        """The distinct γ to predict."""
        return tuple(dict.fromkeys(self.request.gammas))

    @property
    def cases(self) -> list[Case]:
        """Every combination of temperature and concurrency."""
        temperatures, concurrencies = self.request.temperatures, self.request.engine.concurrencies
        return list(product(dict.fromkeys(temperatures), dict.fromkeys(concurrencies)))

    @property
    def sharing(self) -> list[tuple[int, ...]]:
        """Groups of γ whose servers run at the same time: one group of all γ, or one for each γ."""
        gammas = sorted({0, *self.gammas, *self.request.priced_gammas})
        return [tuple(gammas)] if self.request.together else [(gamma,) for gamma in gammas]

    def cells(self, gammas: Sequence[int]) -> list[Cell]:
        """Returns the cells with these γ that the trial runs: pairs of a `Use` and a γ."""
        uses: dict[Use, Sequence[int]] = {
            "priced": (0, *self.request.priced_gammas), "rows": (0, *self.gammas),
        }  # fmt: skip
        return [(use, gamma) for use, own in uses.items() for gamma in gammas if gamma in own]

    def prompts_of(self, use: Use) -> Prompts:
        return self.prompts if use == "rows" else self.other_prompts

    def turns(self) -> Iterator[tuple[Case, slice]]:
        """Yields the case and the prompts of each turn: one prompt, or all simultaneous prompts."""
        longest = max(len(self.prompts), len(self.other_prompts))
        for start, case in product(range(longest), self.cases):
            size = 1 if case[1] == 1 else longest
            if start % size == 0:
                yield case, slice(start, start + size)

    def texts(self, own: EngineRun) -> list[Text]:
        """Returns each predicted prompt together with the text that a run wrote for it."""
        return list(zip(self.prompts, (text.tokens for text in own.completions), strict=True))

    def add(self, case: Case, cell: Cell, repeat: int, own: EngineRun) -> None:
        """Adds the run of one turn's prompts to the runs of a repeat."""
        runs = self.runs.setdefault(case, {}).setdefault(cell, [])
        if len(runs) <= repeat:
            runs.append(own)
        else:
            runs[repeat] += own
