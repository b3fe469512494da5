"""A cost together with its load, its ratio of operations, and its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

if TYPE_CHECKING:
    from simulator.cost.cost import Cost
    from simulator.cost.fitted.fit import ParametricCost
    from simulator.cost.fitted.machine import LoadPoint
    from simulator.cost.fitted.posterior import Posterior
    from simulator.cost.fitted.runs import Run

# Tokens in each sequence's cache, where nobody states them.
DEFAULT_CONTEXT = 1024


@dataclass(frozen=True, slots=True)
class Wall:
    """A server's limit for captured CUDA graphs. Larger steps launch their kernels one by one.

    Such a step can take three times as long: on a published grid of vLLM, batch 128 gave 22.2
    thousand tokens/s at K = 3 (512 tokens per step) and 8.0 at K = 5 (768 tokens).

    unit: "tokens" of a step, drafted ones included, or "requests".
    most: the largest captured step, at least 1.
    flag: the server's setting that changes the limit.
    read_in: file and version of the server's source that state the limit.

      >>> graphs = Wall("tokens", 512, "--max-cudagraph-capture-size", "")
      >>> graphs.beyond(128, 3), graphs.beyond(128, 5)
      (False, True)
    """

    unit: Literal["tokens", "requests"]
    most: int
    flag: str
    read_in: str

    def size(self, batch: Any, gamma: Any) -> Any:
        """Returns the size of a step in `unit`; γ = 0 is the baseline. Arguments may be arrays."""
        return batch * (gamma + 1) if self.unit == "tokens" else batch * (gamma * 0 + 1)

    def beyond(self, batch: Any, gamma: Any) -> Any:
        """Returns whether a step is larger than the largest captured step."""
        return self.size(batch, gamma) > self.most

    def crossed(self, batch: Any, gamma: Any) -> Any:
        """Returns whether a step exceeds the limit while the baseline's step does not."""
        return self.beyond(batch, gamma) > self.beyond(batch, 0)

    def most_batch(self, gamma: int) -> int:
        """Returns the largest batch whose steps are captured; 0 if none is."""
        return self.most // int(self.size(1, gamma))

    def most_gamma(self, batch: int, up_to: int) -> int:
        """Returns the largest γ, at most `up_to`, whose steps do not cross the limit."""
        if self.unit != "tokens" or self.beyond(batch, 0):
            return up_to
        return min(up_to, self.most // batch - 1)


@dataclass(frozen=True, slots=True)
class Load:
    """The load and the machine to which costs apply.

    A field is None if it is not known, unless stated otherwise.

    origin: source of the costs, for example "measured on cpu".
    context: tokens in each sequence's cache.
    gpu, dtype, tp: as stated by the user; dtype None: the format in each model's configuration.
    draft_kind: kind of draft (`simulator.cost.roofline.shapes.DraftKind`).
    needed_gb, memory_gb: GB that both models' weights and caches need on each GPU, and GB it has.
    draft_overhead: share of a draft step's time that is overhead per layer (kernel launches).
    most_batch: the largest batch that fits at this context.
    speeds: 10th and 90th percentile of published speed / predicted speed of one sequence.
    cost_model: "kernels", "public" or "roofline", the model of the costs; None if measured.
    notes: warnings for readers of the costs.
    estimated: "between" or "beyond" if costs are inferred between or beyond the batches of runs.
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
    load: load and machine of the costs; None if the costs are not for a particular load.
    max_gamma: most tokens that the draft can draft; None if there is no limit.
    multiple: number of the draft's layers. A larger γ is a multiple of it: all layers run again.
    stated_gamma: number of drafted tokens in the draft's configuration; None if there is none.
    draft_passes: maps n to times of draft passes over 1, …, n tokens of a sequence, in the unit of
      `cost`, without corrections by runs; None: only n = 1 is known, one draft step.
    prompt_seconds: maps a number of prompt tokens to the time of a pass over them, without and with
      a draft; None if not known.
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
        return cast("ParametricCost", self.cost) if hasattr(self.cost, "posterior") else None

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
        """The range of c expected from the models' sizes; None without sizes or if c is modelled.

        It contains the c of 28 timed pairs (benchmarks/published_decoding.json), which is 1.07 to
        5.41 times `draft_share`, and at most 0.38 above it.
        """
        share = self.draft_share
        follows = self.load is not None and self.load.modelled and not self.own_runs
        return None if share is None or follows else (share / 4, 3 * share + 0.25)

    @property
    def assumed_c(self) -> tuple[float, float] | None:
        """The 90 % interval of c if c was assumed; None if a model or a run gives c."""
        posterior = self.posterior
        if posterior is None or self.load is not None or any(run.gamma for run in posterior.runs):
            return None
        from simulator.cost.fitted.machine import PARAMETERS

        at = PARAMETERS.index("draft")
        factor = math.exp(1.645 * math.sqrt(posterior.covariance[at, at]))
        return self.cost.c / factor, self.cost.c * factor

    @property
    def questions_c(self) -> bool:
        """Whether c lies outside the range that the models' sizes suggest (`expected_c`)."""
        expected = self.expected_c
        return expected is not None and not expected[0] <= self.cost.c <= expected[1]

    @classmethod
    def of_doubt(cls, posterior: Posterior, point: LoadPoint) -> Pricing:
        """Returns the pricing of a cost with uncertain parameters; `load` is None."""
        from simulator.cost.fitted.fit import ParametricCost

        return cls(ParametricCost(posterior, point), batch=point.batch)

    def in_doubt(self, posterior: Posterior, point: LoadPoint) -> Pricing:
        """Returns this pricing with its cost replaced by the posterior's uncertain cost."""
        prompts = self.prompt_seconds and partial(_prompts, self.prompt_seconds, posterior)
        return replace(self, cost=Pricing.of_doubt(posterior, point).cost, prompt_seconds=prompts)

    @property
    def own_runs(self) -> list[Run]:
        """The runs at exactly this load."""
        runs = () if self.posterior is None else self.posterior.runs
        return [run for run in runs if run.load == self.point]

    @property
    def own_gains(self) -> dict[int, tuple[float, float]]:
        """The measured log speed-up of each γ run at this load, and its standard deviation."""
        from simulator.cost.fitted.runs import log_gains

        return log_gains(self.own_runs)

    def published_speeds(self, tokens_per_second: float | None) -> tuple[float, float] | None:
        """Returns the predicted tokens/s times `Load.speeds`; None if batch is above 1."""
        speeds = None if self.load is None else self.load.speeds
        if speeds is None or tokens_per_second is None or self.batch > 1:
            return None
        return speeds[0] * tokens_per_second, speeds[1] * tokens_per_second

    def drafts(self, gamma: Any) -> Any:
        """Returns whether the draft can draft γ tokens; γ may be an array."""
        whole = (gamma <= self.multiple) | (gamma % self.multiple == 0)
        return whole if self.max_gamma is None else whole & (gamma <= self.max_gamma)

    def allows(self, gammas: Any) -> Any:
        """Returns whether the draft can draft each γ without crossing `wall`, shape (n,)."""
        able = self.drafts(gammas)
        return able if self.wall is None else able & ~self.wall.crossed(self.batch, gammas)

    def draft_pass_seconds(self, widest: int) -> Mapping[int, float]:
        """Returns the times of draft passes over n tokens of a sequence, by n (`draft_passes`)."""
        if self.draft_passes is None:
            return {1: self.cost.c * self.cost.step_seconds}
        passes, cost = self.draft_passes(widest), self.doubtful
        return passes if cost is None else {n: cost.draft_pass_seconds(n) for n in passes}


def _prompts(
    exact: Callable[[int], tuple[float, float]], posterior: Posterior, tokens: int
) -> tuple[float, float]:
    """Returns fitted seconds to read a prompt, without and with a draft; exact: unfitted."""
    from simulator.cost.fitted.machine import LoadPoint, seconds_of

    plain, both = exact(tokens)
    works = posterior.machine.plain_work(LoadPoint(0)), posterior.machine.prompt_work(tokens)
    # A pass over the prompt takes no less than a pass over one token.
    found = max(float(seconds_of(each, posterior.logs)) for each in works)
    return found, found + both - plain
