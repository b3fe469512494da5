"""A trial on an engine: the planned runs, and the completed runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal

from engines.engine import Case, EngineRun, Prompts, Setting
from engines.kind import EngineKind
from engines.text_scores import Text
from engines.trials.request import OnEngine
from engines.turns import Runs

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
    temperatures: distinct temperatures. gammas: distinct γ to predict.
    priced: γ whose steps are timed, for the cost model.
    synthetic: unconditional acceptance rates by position, which the engine simulates; None: the
      engine verifies drafts.
    runs: completed runs by case, cell (use of the prompts, γ) and repeat.
    version: the engine's version; empty before a run.
    """

    request: OnEngine
    target: str
    draft: str
    prompts: Prompts
    other_prompts: Prompts
    repeats: int
    temperatures: Sequence[float]
    gammas: Sequence[int]
    priced: Sequence[int]
    synthetic: tuple[float, ...] | None = None
    runs: Runs[Cell] = field(default_factory=dict)
    version: str = ""

    def __post_init__(self) -> None:
        concurrencies = self.request.engine.concurrencies
        least = min(len(self.prompts), len(self.other_prompts))
        if max(concurrencies) > least:
            raise ValueError(
                f"concurrency must be at most the number of prompts, {least} here, of those that "
                f"are predicted and of those that are priced, got {max(concurrencies)}"
            )

    @property
    def kind(self) -> EngineKind:
        return self.request.kind

    @property
    def cases(self) -> list[Case]:
        """Every combination of temperature and concurrency."""
        return list(product(self.temperatures, dict.fromkeys(self.request.engine.concurrencies)))

    @property
    def sharing(self) -> list[tuple[int, ...]]:
        """Groups of γ whose servers run at the same time: one group of all γ, or one for each γ."""
        gammas = sorted({0, *self.gammas, *self.priced})
        return [tuple(gammas)] if self.request.together else [(gamma,) for gamma in gammas]

    def cells(self, gammas: Sequence[int]) -> list[Cell]:
        """Returns the cells with these γ that the trial runs: pairs of a `Use` and a γ."""
        uses: dict[Use, Sequence[int]] = {
            "priced": (0, *self.priced), "rows": (0, *self.gammas),
        }  # fmt: skip
        return [(use, gamma) for use, of_use in uses.items() for gamma in gammas if gamma in of_use]

    def prompts_of(self, use: Use) -> Prompts:
        return self.prompts if use == "rows" else self.other_prompts

    def setting(self, gamma: int) -> Setting:
        """Returns the setting of the server with a γ."""
        rates, request = self.synthetic, self.request
        simulated = None if rates is None or gamma == 0 else rates[:gamma]
        most = max(request.engine.concurrencies)
        return Setting(gamma, request.draft_sampling, most, synthetic=simulated)

    def texts(self, run: EngineRun) -> list[Text]:
        """Returns each predicted prompt together with the text that a run wrote for it."""
        return list(zip(self.prompts, (text.tokens for text in run.completions), strict=True))

    def ran(self, runs: Runs[Cell]) -> "Trial":
        """Returns the trial with further runs, and with the prompts and repeats that they reached.

        runs: runs of cells that did not run before, in every case.
        """
        cells = list(next(iter(runs.values())).values())
        # Servers that run after the first run as much as it did.
        first = max(len(done[0].completions) for done in cells)
        reached = len(self.prompts) if self.runs else first
        return replace(
            self,
            prompts=self.prompts[:reached],
            other_prompts=self.other_prompts[:reached],
            repeats=len(cells[0]),
            runs={case: self.runs.get(case, {}) | runs[case] for case in runs},
        )
