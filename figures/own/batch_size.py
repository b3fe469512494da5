"""Ours: the best γ and the speed-up against batch size, by the roofline cost model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from figures.drawing.table import Table, table_of
from simulator.choice.batching import last_gaining_batch, plan_batches
from simulator.choice.calibrated import calibrated_factor
from simulator.cost.hardware import find_hardware
from simulator.cost.model_shape import ModelShape
from simulator.cost.roofline import roofline_cost

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The config.json of Llama 3.1 8B and Llama 3.2 1B (Meta, 2024).
TARGET = ModelShape(
    layers=32,
    hidden=4096,
    intermediate=14336,
    heads=32,
    kv_heads=8,
    head_dim=128,
    vocabulary=128256,
    dtype="bfloat16",
    gated=True,
    tied_embeddings=False,
)
DRAFT = ModelShape(
    layers=16,
    hidden=2048,
    intermediate=8192,
    heads=32,
    kv_heads=8,
    head_dim=64,
    vocabulary=128256,
    dtype="bfloat16",
    gated=True,
    tied_embeddings=True,
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
class BatchSize:
    """The batch sizes drawn, and by fixed γ the last of all sizes at which it still gains."""

    points: tuple[Point, ...]
    last_gaining: dict[int, int | None]

    def table(self) -> Table:
        return table_of(self.points)


def compute() -> BatchSize:
    """Returns the plans for one to 512 sequences on one H100."""
    gpu = find_hardware(GPU)
    costs = {
        batch: roofline_cost(
            TARGET, DRAFT, gpu, context=CONTEXT, batch=batch, max_gamma=MAX_GAMMA
        )
        for batch in range(1, MAX_BATCH + 1)
    }
    drawn = {batch: costs[batch] for batch in BATCHES}
    plans = plan_batches(drawn, alpha=ALPHA, max_gamma=MAX_GAMMA)
    return BatchSize(
        points=tuple(
            Point(
                plan.batch,
                plan.gamma,
                plan.improvement_factor,
                *calibrated_factor(ALPHA, FIXED_GAMMAS, cost=costs[plan.batch]).tolist(),
            )
            for plan in plans
        ),
        last_gaining={
            gamma: last_gaining_batch(costs, alpha=ALPHA, min_gamma=gamma, max_gamma=gamma)
            for gamma in FIXED_GAMMAS
        },
    )


def draw(data: BatchSize) -> Figure:
    """Returns the drawing: speed-up on top, the best γ below, against the batch size."""
    from figures.drawing import style

    figure, (top, bottom) = style.canvas(
        f"Under load long drafts slow a server down: beyond {data.last_gaining[4]} sequences "
        f"at γ = 4, beyond {data.last_gaining[8]} at γ = 8",
        source=f"Ours: roofline of Llama 3.1 8B drafted by Llama 3.2 1B on one {GPU}, "
        f"{CONTEXT} tokens of context, α = {ALPHA:g}",
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
    top.set_ylim(0.25, 1.95)
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
