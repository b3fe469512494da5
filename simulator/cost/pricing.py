"""A cost with what belongs to it: its operations, its load, and how far to trust it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.cost.cost import Cost
    from simulator.cost.machine import LoadPoint
    from simulator.cost.posterior import Posterior
    from simulator.cost.runs import Run
    from simulator.cost.wall import Wall

# Tokens in each sequence's cache, where nobody states them.
DEFAULT_CONTEXT = 1024


@dataclass(frozen=True, slots=True)
class Load:
    """The load and the machine that the costs of a batch are of.

    origin: source of the costs, in words, as "measured on cpu".
    gpu, dtype, tp: as the user named them; gpu None: not known; dtype None: each configuration's
      own.
    draft_kind: kind of draft (`simulator.cost.draft_shape.DraftKind`).
    context: tokens in each sequence's cache.
    needed_gb: weights and caches of both models on each GPU; None: not known.
    fits: whether its memory suffices.
    modelled: whether a model of the machine gives the costs; if not, they were measured.
    draft_overhead: share of a draft step that its layers take regardless of their work; None: not
      known.
    memory_gb: memory of each GPU in GB; None: not known.
    most_batch: the largest batch that fits, at this context; None: not known.
    speeds: measured over predicted tokens per second of one sequence, the 10th and the 90th
      percentile of published measurements; None: not known.
    cost_model: "kernels", "public" or "roofline", how the costs were modelled; None: they were
      measured.
    notes: warnings for a reader of the costs.
    estimated: "between" or "beyond" the batches that were run; None: this one was run, or modelled.
    """

    origin: str
    gpu: str | None
    dtype: str | None
    tp: int
    draft_kind: str
    context: int
    needed_gb: float | None
    fits: bool
    modelled: bool
    draft_overhead: float | None = None
    speeds: tuple[float, float] | None = None
    cost_model: str | None = None
    notes: tuple[str, ...] = ()
    estimated: str | None = None
    memory_gb: float | None = None
    most_batch: int | None = None


@dataclass(frozen=True, slots=True)
class Pricing:
    """One set of costs to plan with.

    cost: times of blocks, each block a pass over the whole batch.
    c_hat: the ratio in operations where the source of the costs knows it.
    batch: sequences decoded together.
    load: None: of no load in particular.
    max_gamma: tokens that the draft can draft at most; None: any number.
    multiple: layers of a draft that are run again: a longer draft is a multiple of them.
    stated_gamma: drafted tokens that the draft's configuration states; None: it states none.
    draft_passes: from a largest n to times of the draft's passes over 1 to n tokens, by n, in the
      cost's unit; None: a pass takes what a step does.
    prompt_seconds: from a number of prompt tokens to the time of a pass over them, of the target
      without speculation and of both models; None: not known.
    posterior: distribution of the cost's parameters; `cost` then has the most probable ones. None:
      the cost is exact.
    point: the load at which the posterior is evaluated; None without a posterior.
    wall: the largest step that the server replays as a captured graph; None: no limit is known.
    timed: the γ whose speed-ups were measured; only these are advised. Empty: all γ are.
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
    posterior: Posterior | None = None
    point: LoadPoint | None = None
    wall: Wall | None = None
    timed: tuple[int, ...] = ()

    @classmethod
    def of_doubt(cls, posterior: Posterior, point: LoadPoint) -> Pricing:
        """Returns the pricing of a cost in doubt, of no machine that is known."""
        from simulator.cost.parametric_cost import ParametricCost

        cost = ParametricCost.of(posterior, point)
        return cls(cost, batch=point.batch, posterior=posterior, point=point)

    def in_doubt(self, posterior: Posterior, point: LoadPoint) -> Pricing:
        """Returns this pricing with a cost in doubt in place of its own."""
        doubtful = Pricing.of_doubt(posterior, point)
        return replace(
            self,
            cost=doubtful.cost,
            posterior=posterior,
            point=point,
            draft_passes=self.draft_passes
            and partial(_passes_in_doubt, self.draft_passes, posterior, point),
            prompt_seconds=self.prompt_seconds and partial(self._prompts_in_doubt, posterior),
        )

    @property
    def own_runs(self) -> list[Run]:
        """The runs of this very load."""
        runs = () if self.posterior is None else self.posterior.runs
        return [run for run in runs if run.load == self.point]

    @property
    def own_gains(self) -> dict[int, tuple[float, float]]:
        """The logarithm of the gain of each γ in the runs of this very load, and its error."""
        from simulator.cost.runs import log_gains

        return log_gains(self.own_runs)

    def _prompts_in_doubt(self, posterior: Posterior, tokens: int) -> tuple[float, float]:
        """Returns prompt_seconds, the target's arithmetic on prompts corrected by the posterior.

        A pass takes no less than one over a single token.
        """
        from simulator.cost.machine import LoadPoint

        assert self.prompt_seconds is not None
        alone, both = self.prompt_seconds(tokens)
        one = posterior.machine.plain_work(LoadPoint(0)).seconds(posterior.logs)
        work = posterior.machine.prompt_work(LoadPoint(0, prompt_ratio=tokens))
        found = max(one, work.seconds(posterior.logs))
        return found, found + both - alone

    def published_speeds(self, tokens_per_second: float | None) -> tuple[float, float] | None:
        """Returns between which speeds 8 of 10 of those lay that were planned to be this one.

        None where nothing is published, as for several sequences.
        """
        speeds = None if self.load is None else self.load.speeds
        if speeds is None or tokens_per_second is None or self.batch > 1:
            return None
        return speeds[0] * tokens_per_second, speeds[1] * tokens_per_second

    def draft_pass_seconds(self, widest: int) -> Mapping[int, float]:
        """Returns the times of the draft's passes over several tokens of a sequence, by number."""
        if self.draft_passes is None:
            return {1: self.cost.c * self.cost.step_seconds}
        return self.draft_passes(widest)


def _passes_in_doubt(
    passes: Callable[[int], Mapping[int, float]],
    posterior: Posterior,
    point: LoadPoint,
    widest: int,
) -> Mapping[int, float]:
    """Returns the times of the draft passes that `passes` has, priced by a posterior."""
    from simulator.cost.machine import Drafting

    return {
        n: posterior.machine.drafting_work(point, Drafting(1, n)).seconds(posterior.logs)
        for n in passes(widest)
    }
