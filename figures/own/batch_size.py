"""Ours: the best γ and the speed-up against batch size, by the roofline cost model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from estimator.shapes.drafts import draft_of
from estimator.shapes.shape import shape_of
from figures.drawing.table import Table, table_of
from simulator.choice.batching import last_gaining_batch, plan_batches
from simulator.choice.calibrated import calibrated_factor
from simulator.cost.catalogue import find_hardware
from simulator.cost.roofline_cost import Deployment, roofline_cost

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The config.json of Llama 3.1 8B and Llama 3.2 1B (Meta, 2024).
TARGET: Mapping[str, Any] = MappingProxyType(
    {
        "model_type": "llama",
        "num_hidden_layers": 32,
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "tie_word_embeddings": False,
        "dtype": "bfloat16",
    }
)
DRAFT: Mapping[str, Any] = MappingProxyType(
    {
        **TARGET,
        "num_hidden_layers": 16,
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "head_dim": 64,
        "tie_word_embeddings": True,
    }
)
GPU = "h100-sxm"
CONTEXT = 512
ALPHA = 0.7
FIXED_GAMMAS = (2, 4, 8)
MAX_GAMMA = 16
MAX_BATCH = 512
# Those drawn: all the small ones, then in steps of 6 %.
BATCHES = tuple(sorted({round(2 ** (i / 12)) for i in range(109)}))


@dataclass(frozen=True, slots=True)
class Point:
    """One batch size: the best γ, its speed-up, and the speed-ups of the fixed γ."""

    batch: int
    best_gamma: int
    best_speedup: float
    speedup_gamma_2: float
    speedup_gamma_4: float
    speedup_gamma_8: float


@dataclass(frozen=True, slots=True)
class Load:
    """What is drawn: models on hardware, the context of each sequence and the acceptance rate.

    caption: the deployment in words.
    """

    deployment: Deployment
    caption: str
    context: int = CONTEXT
    alpha: float = ALPHA


@dataclass(frozen=True, slots=True)
class BatchSize:
    """The batch sizes drawn, and by fixed γ the last of all sizes at which it still gains."""

    load: Load
    points: tuple[Point, ...]
    last_gaining: dict[int, int | None]

    def table(self) -> Table:
        return table_of(self.points)


def default_load() -> Load:
    """Returns an 8B model drafted by a 1B one on an H100."""
    target = shape_of(TARGET)
    draft = draft_of(DRAFT, target=TARGET, target_shape=target)
    return Load(
        deployment=Deployment(target, draft, find_hardware(GPU)),
        caption=f"Llama 3.1 8B drafted by Llama 3.2 1B on one {GPU}",
    )


def compute(load: Load | None = None) -> BatchSize:
    """Returns the plans for one to 512 sequences; without a load, for that of default_load."""
    given = default_load() if load is None else load
    costs = {
        batch: roofline_cost(
            given.deployment, context=given.context, batch=batch, max_gamma=MAX_GAMMA
        )
        for batch in range(1, MAX_BATCH + 1)
    }
    drawn = {batch: costs[batch] for batch in BATCHES}
    plans = plan_batches(drawn, alpha=given.alpha, max_gamma=MAX_GAMMA)
    return BatchSize(
        load=given,
        points=tuple(
            Point(
                plan.batch,
                plan.gamma,
                plan.improvement_factor,
                *calibrated_factor(given.alpha, FIXED_GAMMAS, cost=costs[plan.batch]).tolist(),
            )
            for plan in plans
        ),
        last_gaining={
            gamma: last_gaining_batch(costs, alpha=given.alpha, min_gamma=gamma, max_gamma=gamma)
            for gamma in FIXED_GAMMAS
        },
    )


def title(data: BatchSize) -> str:
    """Returns the finding: from where on fixed drafts lose."""
    ends = {gamma: data.last_gaining[gamma] for gamma in (4, 8)}
    if all(last is not None and last < MAX_BATCH for last in ends.values()):
        return (
            f"Under load long drafts slow a server down: beyond {ends[4]} sequences "
            f"at γ = 4, beyond {ends[8]} at γ = 8"
        )
    said = {None: "never gains", MAX_BATCH: f"still gains with {MAX_BATCH} sequences"}
    return "; ".join(
        f"γ = {gamma} {said.get(last, f'loses beyond {last} sequences')}"
        for gamma, last in ends.items()
    )


def draw(data: BatchSize) -> Figure:
    """Returns the drawing: speed-up on top, the best γ below, against the batch size."""
    from figures.drawing import style

    figure, (top, bottom) = style.canvas(
        title(data),
        source=f"Ours: roofline of {data.load.caption}, "
        f"{data.load.context} tokens of context, α = {data.load.alpha:g}",
        rows=2,
        height=6.2,
        sharex=True,
    )
    batches = [point.batch for point in data.points]
    lines = [
        ("best γ", [point.best_speedup for point in data.points]),
        *(
            (f"γ = {gamma}", [getattr(point, f"speedup_gamma_{gamma}") for point in data.points])
            for gamma in FIXED_GAMMAS
        ),
    ]
    labels = style.plot_lines(top, batches, lines)
    top.axhline(1, color=style.INK, linewidth=1)
    highest = max(point.best_speedup for point in data.points)
    top.set_ylim(0.25, max(1.95, 1.1 * highest))
    top.set_xscale("log", base=2)
    top.set_xlim(1, batches[-1])
    style.label_right(top, labels)
    style.name_axes(top, x="", y="speed-up", panel="speed-up over no speculation")
    bottom.plot(
        batches,
        [point.best_gamma for point in data.points],
        color=style.CYCLE[0],
        linewidth=2,
        drawstyle="steps-post",
    )
    bottom.set_ylim(0, None)
    style.count_on_y(bottom)
    ticks = [2**i for i in range(10)]
    bottom.set_xticks(ticks, [str(tick) for tick in ticks])
    bottom.minorticks_off()
    style.name_axes(
        bottom,
        x="batch size (sequences decoded together, log scale)",
        y="drafted tokens per block",
        panel="best γ; 0: do not speculate",
    )
    return figure
