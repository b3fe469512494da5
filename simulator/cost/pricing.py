"""A cost together with its load, its ratio of operations, and its uncertainty."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.cost.cost import Cost
    from simulator.cost.fitted.machine import LoadPoint
    from simulator.cost.fitted.posterior import ParametricCost, Posterior
    from simulator.cost.fitted.runs import Run
    from simulator.cost.wall import Wall

# Tokens in each sequence's cache, where nobody states them.
DEFAULT_CONTEXT = 1024
_SIZE = re.compile(r"(?<![\w.])(A)?(\d+(?:\.\d+)?)([BM])(?![A-Za-z0-9])", re.IGNORECASE)
# A head's name has its target's size.
_HEAD = re.compile(r"eagle|mtp|medusa|dflash|dspark|hydra|speculator", re.IGNORECASE)


def named_size(name: str | None) -> float | None:
    """Returns the weights that a token takes, by a model's name; None: the name has no size.

    The size of "Qwen3-30B-A3B" is the active 3B.
    """
    parts = (name or "").rstrip("/").replace("\\", "/").split("/")
    base = next((each for each in parts if each.startswith("models--")), parts[-1])
    sizes = sorted(_SIZE.finditer(base.replace("_", "-")), key=lambda found: not found[1])
    if not sizes or _HEAD.search(base):
        return None
    return float(sizes[0][2]) * (1e9 if sizes[0][3] in "Bb" else 1e6)


def named_share(target: str | None, draft: str | None) -> float | None:
    """Returns a draft's share of its target's weights by their names; None: not known."""
    small, large = named_size(draft), named_size(target)
    return None if small is None or large is None else small / large


@dataclass(frozen=True, slots=True)
class Load:
    """The load and the machine to which costs apply.

    origin: source of the costs, for example "measured on cpu".
    gpu, dtype, tp: as named by the user; gpu is None if not known; dtype is None for the format of
      each model's configuration.
    draft_kind: kind of draft (`simulator.cost.roofline.shapes.DraftKind`).
    context: tokens in each sequence's cache.
    needed_gb: GB of both models' weights and caches on each GPU; None if not known.
    draft_overhead: share of a draft step that its layers take for any amount of work; None if not
      known.
    memory_gb: memory of each GPU in GB; None if not known.
    most_batch: the largest batch that fits at this context; None if not known.
    speeds: measured over predicted tokens per second of one sequence, 10th and 90th percentile of
      published measurements; None if not known.
    cost_model: "kernels", "public" or "roofline", the model of the costs; None if measured.
    notes: warnings for readers of the costs.
    estimated: "between" or "beyond" the batches that were run; None if this batch was run or
      modelled.
    """

    origin: str
    context: int
    gpu: str | None = None
    dtype: str | None = None
    tp: int = 1
    draft_kind: str = "model"
    needed_gb: float | None = None
    draft_overhead: float | None = None
    speeds: tuple[float, float] | None = None
    cost_model: str | None = None
    notes: tuple[str, ...] = ()
    estimated: str | None = None
    memory_gb: float | None = None
    most_batch: int | None = None

    @property
    def fits(self) -> bool:
        """Whether the memory of each GPU suffices, as far as is known."""
        return self.needed_gb is None or self.memory_gb is None or self.needed_gb <= self.memory_gb

    @property
    def modelled(self) -> bool:
        """Whether a model of the machine gives the costs; false if they were measured."""
        return self.cost_model is not None


@dataclass(frozen=True, slots=True)
class Pricing:
    """One set of costs to plan with.

    cost: times of blocks, each block a pass over the whole batch.
    c_hat: operations of a draft step over operations of a target step; None if not known.
    batch: sequences decoded together.
    load: None if the costs are not for a particular load.
    max_gamma: most tokens that the draft can draft; None if there is no limit.
    multiple: number of a draft's layers, if they are run again: a longer draft is a multiple.
    stated_gamma: number of drafted tokens in the draft's configuration; None if there is none.
    draft_passes: maps a largest n to times of the draft's passes over 1 to n tokens, by n, in the
      cost's unit, without any posterior; None: a pass takes as long as a step.
    prompt_seconds: maps a number of prompt tokens to the time of a pass over them, without a draft
      and with a draft; None if not known.
    wall: the largest step that the server runs as a captured graph; None if no limit is known.
    draft_share: weights of a draft step over weights of a target step; None if not known.
    timed: the γ with measured speed-ups; only these are advised. Empty: any γ may be advised.
    """

    cost: Cost
    c_hat: float | None = None
    batch: int = 1
    load: Load | None = None
    max_gamma: int | None = None
    multiple: int = 1
    stated_gamma: int | None = None
    draft_passes: Callable[[int], Mapping[int, float]] | None = None
    prompt_seconds: Callable[[int], tuple[float, float]] | None = None
    wall: Wall | None = None
    draft_share: float | None = None
    timed: tuple[int, ...] = ()

    @property
    def doubtful(self) -> ParametricCost | None:
        """The cost with the distribution of its parameters; None if the cost is exact."""
        from simulator.cost.fitted.posterior import ParametricCost

        return self.cost if isinstance(self.cost, ParametricCost) else None

    @property
    def posterior(self) -> Posterior | None:
        """The distribution of the cost's parameters; None if the cost is exact."""
        return None if self.doubtful is None else self.doubtful.posterior

    @property
    def point(self) -> LoadPoint | None:
        """The load at which the posterior is evaluated; None if the cost is exact."""
        return None if self.doubtful is None else self.doubtful.load

    @property
    def expected_c(self) -> tuple[float, float] | None:
        """The range of c by the models' sizes; None: they are not known, or c follows from them.

        In 28 pairs of models, each timed on one machine one sequence at a time
        (benchmarks/published_decoding.json), c was 1.07 to 5.41 times the draft's share of the
        weights, and at most 0.38 above it: none is outside this range.
        """
        share, modelled = self.draft_share, self.load is not None and self.load.modelled
        unknown = share is None or (modelled and not self.own_runs)
        return None if share is None or unknown else (share / 4, 3 * share + 0.25)

    @property
    def assumed_c(self) -> tuple[float, float] | None:
        """The 90 % range of a c that no model gives and no run with drafts measures, else None."""
        from simulator.cost.fitted.machine import PARAMETERS

        posterior, at = self.posterior, PARAMETERS.index("draft")
        if posterior is None or self.load is not None or any(run.gamma for run in posterior.runs):
            return None
        factor = math.exp(1.645 * math.sqrt(posterior.covariance[at, at]))
        return self.cost.c / factor, self.cost.c * factor

    @property
    def questions_c(self) -> bool:
        """Whether c is so far from the models' sizes that its evidence is in doubt."""
        expected = self.expected_c
        return expected is not None and not expected[0] <= self.cost.c <= expected[1]

    @classmethod
    def of_doubt(cls, posterior: Posterior, point: LoadPoint) -> Pricing:
        """Returns the pricing of an uncertain cost on a machine that is not known."""
        from simulator.cost.fitted.posterior import ParametricCost

        return cls(ParametricCost(posterior, point), batch=point.batch)

    def in_doubt(self, posterior: Posterior, point: LoadPoint) -> Pricing:
        """Returns this pricing with an uncertain cost in place of its cost."""
        prompts = self.prompt_seconds and partial(_prompts, self.prompt_seconds, posterior)
        return replace(self, cost=Pricing.of_doubt(posterior, point).cost, prompt_seconds=prompts)

    @property
    def own_runs(self) -> list[Run]:
        """The runs at exactly this load."""
        runs = () if self.posterior is None else self.posterior.runs
        return [run for run in runs if run.load == self.point]

    @property
    def own_gains(self) -> dict[int, tuple[float, float]]:
        """The log gain of each γ in the runs at this load, and its standard deviation."""
        from simulator.cost.fitted.runs import log_gains

        return log_gains(self.own_runs)

    def published_speeds(self, tokens_per_second: float | None) -> tuple[float, float] | None:
        """Returns the range of speeds likely by published measurements, in tokens per second.

        It goes from the 10th to the 90th percentile of measured over predicted speeds, times the
        prediction. None if the batch is above 1, or no such percentiles or speed are known.

        tokens_per_second: predicted speed of one sequence.
        """
        speeds = None if self.load is None else self.load.speeds
        if speeds is None or tokens_per_second is None or self.batch > 1:
            return None
        return speeds[0] * tokens_per_second, speeds[1] * tokens_per_second

    def draft_pass_seconds(self, widest: int) -> Mapping[int, float]:
        """Returns the times of the draft's passes over n tokens of a sequence, by n."""
        if self.draft_passes is None:
            return {1: self.cost.c * self.cost.step_seconds}
        passes, cost = self.draft_passes(widest), self.doubtful
        return passes if cost is None else {n: cost.draft_pass_seconds(n) for n in passes}


def _prompts(
    exact: Callable[[int], tuple[float, float]], posterior: Posterior, tokens: int
) -> tuple[float, float]:
    """Returns prompt seconds with the target's arithmetic corrected by the posterior.

    A pass takes at least as long as a pass over one token.
    """
    from simulator.cost.fitted.machine import LoadPoint, seconds_of

    plain, both = exact(tokens)
    work = posterior.machine.prompt_work(LoadPoint(0, prompt_ratio=tokens))
    step = posterior.machine.plain_work(LoadPoint(0))
    found = max(float(seconds_of(each, posterior.logs)) for each in (step, work))
    return found, found + both - plain
