"""Ours: the best γ and the speed-up against batch size, by the best cost model of a deployment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimator.deployed_cost import DeployedCost
from estimator.model_shapes.drafts import draft_of
from estimator.model_shapes.kept_counts import count_once
from estimator.model_shapes.shape import shape_of
from figures.drawing import style
from figures.drawing.table import Curves
from simulator.acceptance.iid import Iid
from simulator.acceptance.tokens import expected_tokens
from simulator.choice.gain import first_best, speed_up
from simulator.cost.fitted.machine import Drafting, LoadPoint
from simulator.cost.pricing import DEFAULT_CONTEXT
from simulator.cost.roofline.deployment import Deployment, most_batch, roofline_cost
from simulator.cost.roofline.forward import DEFAULT_EFFICIENCY, DEFAULT_LAYER_SECONDS, Conditions
from simulator.cost.roofline.hardware import find_hardware

# The config.json of Llama 3.1 8B and Llama 3.2 1B (Meta, 2024).
TARGET: Mapping[str, Any] = MappingProxyType(
    {
        "model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096,
        "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
        "vocab_size": 128256, "tie_word_embeddings": False, "dtype": "bfloat16",
    }
)  # fmt: skip
DRAFT: Mapping[str, Any] = MappingProxyType(
    {
        **TARGET, "num_hidden_layers": 16, "hidden_size": 2048, "intermediate_size": 8192,
        "head_dim": 64, "tie_word_embeddings": True,
    }
)  # fmt: skip
GPU = "h100-sxm"
ALPHA = 0.7
FIXED_GAMMAS = (2, 4, 8)
MAX_GAMMA = 16
MAX_BATCH = 512
_LINES = ("best_gamma", "best_speedup", *(f"speedup_gamma_{gamma}" for gamma in FIXED_GAMMAS))
# The batch sizes drawn: all small ones, then in steps of 6 %.
BATCHES = tuple(sorted({round(2 ** (i / 12)) for i in range(109)}))


@dataclass(frozen=True, slots=True)
class FigureLoad:
    """Models on hardware, the tokens in each sequence's cache, and the acceptance rate.

    caption: the deployment in words.
    cost: its cost by measured kernels or public measurements; None: by the roofline.
    """

    deployment: Deployment
    caption: str
    context: int = DEFAULT_CONTEXT
    alpha: float = ALPHA
    cost: DeployedCost | None = None

    def speed_ups(self, batch: int, gammas: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns the speed-up of each γ at one batch size, as `specplan plan` shows it."""
        if self.cost is None:
            largest = int(gammas.max())
            cost = roofline_cost(
                self.deployment, context=self.context, batch=batch, max_gamma=largest
            )
            return speed_up(Iid(self.alpha), cost, gammas)
        draftings = [Drafting(gamma) for gamma in gammas.tolist()]
        lengths = expected_tokens(self.alpha, gammas).tolist()
        load = LoadPoint(self.context, batch)
        return self.cost.posterior.speed_ups(load, draftings, lengths).quantile(0.5)


def load_of(
    deployment: Deployment,
    *,
    context: int = DEFAULT_CONTEXT,
    alpha: float = ALPHA,
    cost: DeployedCost | None = None,
) -> FigureLoad:
    """Returns the load of a deployment, with a caption that names sizes."""
    target, draft, gpus = deployment.target, deployment.draft, deployment.conditions.tp
    held = sum(each.values for each in (*draft.step.weights, *draft.once) if each.held)
    drafter = "" if draft.is_model else f"{draft.kind}, "
    caption = (
        f"{target.name} ({target.parameters / 1e9:.1f}B) drafted by {drafter}{held / 1e9:.2f}B, "
        f"on {gpus} × {deployment.hardware.name}"
    )
    return FigureLoad(deployment, caption, context, alpha, cost)


def default_load() -> FigureLoad:
    """Returns an 8B model with a 1B draft on an H100, with the roofline's costs."""
    conditions = Conditions(
        efficiency=DEFAULT_EFFICIENCY, layer_overhead_seconds=DEFAULT_LAYER_SECONDS
    )
    target = shape_of(TARGET, count=count_once)
    draft = draft_of(DRAFT, target=TARGET, target_shape=target, count=count_once)
    return FigureLoad(
        deployment=Deployment(target, draft, find_hardware(GPU), conditions),
        caption=f"Llama 3.1 8B drafted by Llama 3.2 1B on one {GPU}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSize(Curves):
    """The best γ and speed-ups by batch size, and the limits within which a fixed γ gains.

    first_gaining, last_gaining: by fixed γ, smallest and largest batch size with a gain, or None.
    largest: the largest batch size, up to MAX_BATCH, that fits into memory.
    """

    load: FigureLoad
    last_gaining: dict[int, int | None]
    first_gaining: dict[int, int | None]
    largest: int = MAX_BATCH


def compute(load: FigureLoad | None = None) -> BatchSize:
    """Returns the best γ for each batch size that fits into memory, up to MAX_BATCH.

    load: None: `default_load`.

    Raises ValueError if not even one sequence fits, or if the draft is limited to fewer tokens.
    """
    given = default_load() if load is None else load
    longest = given.deployment.draft.longest
    if longest is not None and longest < FIXED_GAMMAS[-1]:
        raise ValueError(f"the draft must reach gamma {FIXED_GAMMAS[-1]}, got {longest} at most")
    cap = MAX_GAMMA if longest is None else min(MAX_GAMMA, longest)
    largest = _largest(given)
    gammas = np.arange(1, cap + 1)
    gains = {batch: given.speed_ups(batch, gammas) for batch in range(1, largest + 1)}
    points = []
    for batch in sorted(batch for batch in {*BATCHES, largest} if batch <= largest):
        factors = gains[batch]
        fixed = [float(factors[gamma - 1]) for gamma in FIXED_GAMMAS]
        best = first_best(gammas, factors)
        points.append((batch, best, max(float(factors.max()), 1.0), *fixed))
    batches, *lines = zip(*points, strict=True)
    gaining = {
        gamma: [batch for batch, factors in gains.items() if factors[gamma - 1] > 1]
        for gamma in FIXED_GAMMAS
    }
    return BatchSize(
        load=given,
        x_name="batch",
        x=batches,
        lines=dict(zip(_LINES, lines, strict=True)),
        last_gaining={gamma: max(batches, default=None) for gamma, batches in gaining.items()},
        first_gaining={gamma: min(batches, default=None) for gamma, batches in gaining.items()},
        largest=largest,
    )


def _largest(load: FigureLoad) -> int:
    """Returns the largest batch that fits into memory, MAX_BATCH at most."""
    largest = most_batch(load.deployment, context=load.context)
    if largest == 0:
        raise ValueError(
            f"one sequence of context {load.context} must fit into the memory of "
            f"{load.deployment.hardware.name}, and does not"
        )
    return min(largest, MAX_BATCH)


def title(data: BatchSize) -> str:
    """Returns the title: the batch sizes between which fixed drafts gain."""
    ends = {gamma: data.last_gaining[gamma] for gamma in (4, 8)}
    early = all(data.first_gaining[gamma] == 1 for gamma in ends)
    if early and all(last is not None and last < data.largest for last in ends.values()):
        return (
            f"Under load long drafts slow a server down: beyond {ends[4]} sequences "
            f"at γ = 4, beyond {ends[8]} at γ = 8"
        )
    return "; ".join(f"γ = {gamma} {_gains(data, gamma)}" for gamma in ends)


def _gains(data: BatchSize, gamma: int) -> str:
    first, last = data.first_gaining[gamma], data.last_gaining[gamma]
    if first is None or last is None:
        return "never gains"
    if first > 1:
        return f"gains from {first} to {last} sequences only"
    if last == data.largest:
        return f"still gains with {last} sequences"
    return f"loses beyond {last} sequences"


def draw(data: BatchSize) -> style.Figure:
    """Returns the drawing: speed-up on top, the best γ below, against the batch size."""
    cost = data.load.cost
    figure, (top, bottom) = style.canvas(
        title(data),
        source=f"Ours: {data.load.caption}, {data.load.context} tokens of context, "
        f"α = {data.load.alpha:g}, by {'the roofline' if cost is None else cost.source}",
        rows=2,
        height=6.2,
        sharex=True,
    )
    batches = data.x
    names = ["best γ", *(f"γ = {gamma}" for gamma in FIXED_GAMMAS)]
    lines = [(shown, data.lines[name]) for shown, name in zip(names, _LINES[1:], strict=True)]
    labels = style.plot_lines(top, batches, lines)
    top.axhline(1, color=style.INK, linewidth=1)
    highest = max(data.lines["best_speedup"])
    lowest = min(min(y) for _, y in lines)
    top.set_ylim(min(0.25, 0.9 * lowest), max(1.95, 1.1 * highest))
    top.set_xlim(1, batches[-1])
    style.label_right(top, labels)
    style.name_axes(top, x="", y="speed-up", panel="speed-up over no speculation")
    style.plot_lines(bottom, batches, [("", data.lines["best_gamma"])])
    bottom.set_ylim(0, None)
    style.count_on(bottom.yaxis)
    style.octaves_on_x(bottom, [2**i for i in range(10) if 2**i <= batches[-1]])
    bottom.minorticks_off()
    x = "batch size (sequences decoded together, log scale)"
    x += "" if data.largest == MAX_BATCH else f"; no more than {data.largest} fit into memory"
    panel = "best γ; 0: do not speculate"
    style.name_axes(bottom, x=x, y="drafted tokens per block", panel=panel)
    return figure
