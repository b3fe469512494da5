"""Ours: the best γ and the speed-up against batch size, by the best cost model of a deployment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from estimator.costs.deployed_cost import DeployedCost
from estimator.model_shapes.drafts import draft_of
from estimator.model_shapes.kept_counts import count_once
from estimator.model_shapes.shape import shape_of
from figures import drawing
from figures.labels import label_right
from figures.numbers import Numbers, results
from simulator.acceptance.acceptance import Iid
from simulator.acceptance.tokens import expected_tokens
from simulator.choice.curve import first_best, speed_up
from simulator.cost.fitted.runs import LoadPoint
from simulator.cost.roofline.deployment import Deployment, most_batch, roofline_cost
from simulator.cost.roofline.forward import DEFAULT_EFFICIENCY, DEFAULT_LAYER_SECONDS
from simulator.cost.roofline.hardware import find_hardware
from simulator.cost.roofline.sharing import Conditions
from simulator.cost.setting import DEFAULT_CONTEXT

GPU = "h100-sxm"
ALPHA = 0.7
FIXED_GAMMAS = (2, 4, 8)
MAX_GAMMA = 16
MAX_BATCH = 512
# The batch sizes drawn: all small ones, then in steps of 6 %.
BATCHES = tuple(sorted({round(2 ** (i / 12)) for i in range(109)}))


@dataclass(frozen=True, slots=True)
class FigureLoad:
    """The content of the batch-size figure: a deployment, its load and the acceptance rate.

    deployment: models on hardware; context: tokens in each sequence's cache.
    cost: cost model that was fitted to measurements; None: the roofline estimates the times.
    name: the deployment in words; None: `caption` names its models with their sizes.
    """

    deployment: Deployment
    context: int = DEFAULT_CONTEXT
    alpha: float = ALPHA
    cost: DeployedCost | None = None
    name: str | None = None

    @property
    def caption(self) -> str:
        """The deployment in words."""
        if self.name is not None:
            return self.name
        target, draft = self.deployment.target, self.deployment.draft
        held = sum(weights.values for weights in (*draft.step.weights, *draft.once) if weights.held)
        drafter = "" if draft.is_model else f"{draft.kind}, "
        return (
            f"{target.name} ({target.parameters / 1e9:.1f}B) drafted by {drafter}"
            f"{held / 1e9:.2f}B, on {self.deployment.conditions.tp} × "
            f"{self.deployment.hardware.name}"
        )

    def speed_ups(self, batch: int, gammas: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns each γ's speed-up at one batch size, as `specplan plan` prints it."""
        if self.cost is None:
            largest = int(gammas.max())
            cost = roofline_cost(
                self.deployment, context=self.context, batch=batch, max_gamma=largest
            )
            return speed_up(Iid(self.alpha), cost, gammas)
        lengths = expected_tokens(self.alpha, gammas).tolist()
        load = LoadPoint(self.context, batch)
        return self.cost.posterior.speed_ups(load, gammas.tolist(), lengths).quantile(0.5)


def default_load() -> FigureLoad:
    """Returns an 8B model with a 1B draft on an H100, whose costs the roofline estimates."""
    conditions = Conditions(
        efficiency=DEFAULT_EFFICIENCY, layer_overhead_seconds=DEFAULT_LAYER_SECONDS
    )
    configs = results("llama-3")
    config, other = vars(configs.target), vars(configs.draft)
    target = shape_of(config, count=count_once)
    draft = draft_of(other, target=config, target_shape=target, count=count_once)
    return FigureLoad(
        deployment=Deployment(target, draft, find_hardware(GPU), conditions),
        name=f"Llama 3.1 8B drafted by Llama 3.2 1B on one {GPU}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSize(Numbers):
    """The best γ and speed-ups by batch size.

    gaining: for each fixed γ, the computed batch sizes at which this γ is faster than γ = 0,
      ascending. All sizes that are drawn are computed, and all between two that are drawn where a
      fixed γ begins or ends to gain.
    largest: the largest batch size, up to MAX_BATCH, that fits into memory.
    """

    load: FigureLoad
    gaining: Mapping[int, Sequence[int]]
    largest: int = MAX_BATCH


def compute(load: FigureLoad | None = None) -> BatchSize:
    """Returns the best γ for each batch size that fits into memory, up to MAX_BATCH.

    Refuses a load whose context does not fit even once, and a drafter that cannot draft as many
    tokens as the largest of FIXED_GAMMAS.

    load: the deployment and its load; None: `default_load`.
    """
    given = default_load() if load is None else load
    longest, cap = given.deployment.draft.longest, MAX_GAMMA
    if longest is not None:
        if longest < FIXED_GAMMAS[-1]:
            raise ValueError(
                f"the draft must reach gamma {FIXED_GAMMAS[-1]}, got {longest} at most"
            )
        cap = min(cap, longest)
    largest = min(most_batch(given.deployment, context=given.context), MAX_BATCH)
    if largest == 0:
        raise ValueError(
            f"one sequence of context {given.context} must fit into the memory of "
            f"{given.deployment.hardware.name}, and does not"
        )
    gammas = np.arange(1, cap + 1)
    drawn = sorted(batch for batch in {*BATCHES, largest} if batch <= largest)
    gains = {batch: given.speed_ups(batch, gammas) for batch in drawn}
    for low, high in pairwise(drawn):
        # Sizes that are not drawn matter where a fixed γ begins or ends to gain.
        changed = (gains[low] > 1) != (gains[high] > 1)
        if changed[np.subtract(FIXED_GAMMAS, 1)].any():
            gains |= {batch: given.speed_ups(batch, gammas) for batch in range(low + 1, high)}
    points = []
    for batch in drawn:
        factors = gains[batch]
        fixed = [float(factors[gamma - 1]) for gamma in FIXED_GAMMAS]
        best = first_best(gammas, factors)
        points.append((batch, best, max(float(factors.max()), 1.0), *fixed))
    return BatchSize(
        names=(
            "batch",
            "best_gamma",
            "best_speedup",
            *(f"speedup_gamma_{gamma}" for gamma in FIXED_GAMMAS),
        ),
        cells=tuple(points),
        load=given,
        gaining={
            gamma: sorted(batch for batch, factors in gains.items() if factors[gamma - 1] > 1)
            for gamma in FIXED_GAMMAS
        },
        largest=largest,
    )


def title(data: BatchSize) -> str:
    """Returns the title: at which batch sizes γ = 4 and γ = 8 are faster than no drafting."""
    four, eight = data.gaining[4], data.gaining[8]
    if all(gammas and gammas[0] == 1 and gammas[-1] < data.largest for gammas in (four, eight)):
        return (
            f"Under load long drafts slow a server down: beyond {four[-1]} sequences "
            f"at γ = 4, beyond {eight[-1]} at γ = 8"
        )
    return "; ".join(f"γ = {gamma} {_gains(data, gamma)}" for gamma in (4, 8))


def _gains(data: BatchSize, gamma: int) -> str:
    if not data.gaining[gamma]:
        return "never gains"
    first, last = data.gaining[gamma][0], data.gaining[gamma][-1]
    if first > 1:
        return f"gains from {first} to {last} sequences only"
    if last == data.largest:
        return f"still gains with {last} sequences"
    return f"loses beyond {last} sequences"


def draw(data: BatchSize, caption: drawing.Caption) -> drawing.Figure:
    """Draws the speed-up (top) and the best γ (bottom) against the batch size."""
    figure, (top, bottom) = caption.canvas(
        title=title(data),
        load=data.load,
        cost="the roofline" if data.load.cost is None else data.load.cost.source,
        fit="" if data.largest == MAX_BATCH else f"; no more than {data.largest} fit into memory",
    )
    batches, best = data["batch"], data["best_speedup"]
    fixed = [(f"γ = {gamma}", data[f"speedup_gamma_{gamma}"]) for gamma in FIXED_GAMMAS]
    labels = drawing.plot_lines(top, batches, [("best γ", best), *fixed])
    top.axhline(1, color=drawing.INK, linewidth=1)
    lowest = min(min(y) for _, y in fixed)
    top.set(ylim=(min(0.25, 0.9 * lowest), max(1.95, 1.1 * max(best))), xlim=(1, batches[-1]))
    label_right(top, labels)
    drawing.plot_lines(bottom, batches, [("", data["best_gamma"])])
    bottom.set_ylim(0, None)
    drawing.count_on(bottom.yaxis)
    drawing.octaves_on_x(bottom, [2**i for i in range(10) if 2**i <= batches[-1]])
    bottom.minorticks_off()
    return figure
