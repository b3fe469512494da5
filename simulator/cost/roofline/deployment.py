"""The cost of a target and a draft on given hardware by the roofline, and their memory."""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import gcd
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from simulator.cost.curves import CostModel
from simulator.cost.roofline.forward import forward_flops, forward_seconds, memory_bytes
from simulator.cost.roofline.hardware import Hardware
from simulator.cost.roofline.shapes import DraftShape, ModelShape
from simulator.cost.roofline.sharing import Conditions, require_division, require_experts
from simulator.numerics.arguments import Floats, integer

# Captured graphs of the draft's passes are replayed, or kernels are launched one by one.
Launch = Literal["graphs", "eager"]
# Time in which a server launches the kernels of a layer one by one (`docs/roofline.md`).
LAUNCH_SECONDS = 5e-4
# Bandwidth of 16 lanes of PCIe 5.0, in bytes per second one way.
PCIE_BANDWIDTH = 64e9
# Bytes that a server moves for each token of the vocabulary to draw a draft (temperature and
# softmax 16, noise and its quotient 16, choice 4, stored distribution 8) and to judge it
# (temperature and softmax 16, both distributions 8). Each takes about eight kernels of 5 µs.
_DRAWN_BYTES, _JUDGED_BYTES, _LAUNCHED_SECONDS = 44, 24, 40e-6


@dataclass(frozen=True, slots=True)
class Deployment:
    """A target and a draft that take turns on the same GPUs.

    hardware: one of the GPUs.
    conditions: conditions of the passes of the target and, except for `tp` and `ep`, of the draft.
      Where prompts are read by other GPUs, they are those that decode.
    draft_tp: GPUs that share the draft; None: as many as share the target. With 1, each GPU holds
      the whole draft and drafts for itself.
    sampled: whether drafts are drawn from the draft's distribution, which the target then judges by
      rejection; else each is the draft's likeliest token.
    launch: how the server launches the draft's kernels; None: not known.
    """

    target: ModelShape
    draft: DraftShape
    hardware: Hardware
    conditions: Conditions = field(default_factory=Conditions)
    draft_tp: int | None = None
    sampled: bool = False
    launch: Launch | None = None

    def __post_init__(self) -> None:
        require_division(self.target, self.conditions.tp)
        require_division(self.draft.step, self.draft_conditions.tp)
        require_experts(self.target, self.conditions.ep)

    @property
    def draft_conditions(self) -> Conditions:
        tp = self.conditions.tp if self.draft_tp is None else self.draft_tp
        return _draft_conditions(self.conditions, tp, bool(self.draft.step.only("experts")))

    @property
    def launch_seconds(self) -> float:
        """Time in which the kernels of an eager draft's pass are launched; 0 for other drafts."""
        return LAUNCH_SECONDS * self.draft.step.layers if self.launch == "eager" else 0.0

    def seconds(
        self, part: ModelShape, new_tokens: ArrayLike, *, context: int, batch: int
    ) -> Floats:
        """Returns the seconds of a pass of `part`: the target, or a shape in `DraftShape`."""
        sizes = {"new_tokens": new_tokens, "context": context, "batch": batch}
        given = self.conditions if part is self.target else self.draft_conditions
        return forward_seconds(part, self.hardware, conditions=given, **sizes)


@lru_cache(maxsize=64)  # each pass needs it
def _draft_conditions(target: Conditions, tp: int, has_experts: bool) -> Conditions:
    gpus = integer("draft_tp", tp, at_least=1) * target.dp
    return replace(target, tp=tp, ep=gcd(target.ep, gpus) if has_experts else 1)


def over_pcie(deployment: Deployment) -> bool:
    """Returns whether several GPUs share the target over a link no faster than PCIe."""
    link = deployment.hardware.link_bandwidth
    return deployment.conditions.gpus > 1 and (link is None or link <= PCIE_BANDWIDTH)


def drawing_seconds(deployment: Deployment, *, batch: int, drafted: int) -> float:
    """Returns the time to draw `drafted` drafts of each sequence at random; 0 if none is drawn."""
    passes = 1 if deployment.draft.parallel else drafted
    return _over_vocabulary(deployment, batch, drafted, _DRAWN_BYTES, passes)


def judging_seconds(deployment: Deployment, *, batch: int, drafted: int) -> float:
    """Returns the further time to judge drafts by rejection; 0 if none is drawn."""
    return _over_vocabulary(deployment, batch, drafted, _JUDGED_BYTES, 1)


def _over_vocabulary(
    deployment: Deployment, batch: int, drafted: int, moved: int, passes: int
) -> float:
    # Every GPU holds the whole vocabulary. A draft without layers looks up its tokens.
    if not deployment.sampled or drafted == 0 or deployment.draft.step.layers == 0:
        return 0.0
    values = deployment.conditions.replica_batch(batch) * drafted * deployment.target.vocabulary
    return moved * values / deployment.hardware.bandwidth + passes * _LAUNCHED_SECONDS


def roofline_cost(
    deployment: Deployment, *, context: int, batch: int = 1, max_gamma: int = 32
) -> CostModel:
    """Returns the cost of speculation by the roofline model, in seconds per pass over the batch.

    A draft that drafts token by token takes γ passes over one token of each sequence; a parallel
    draft takes one pass over γ tokens, then reads `DraftShape.in_turn` once per token. Time outside
    the passes of both models is left out. The curves reach γ = max_gamma + 1.
    """
    gammas = np.arange(1, integer("max_gamma", max_gamma, at_least=1) + 2)
    draft, load = deployment.draft, {"context": context, "batch": batch}
    verify = deployment.seconds(deployment.target, np.arange(1, len(gammas) + 2), **load)
    widths = gammas if draft.parallel else gammas[:1]
    opening, step = (
        deployment.seconds(part, widths, **load) for part in (draft.opening, draft.step)
    )
    if draft.in_turn:
        turn = deployment.seconds(draft.turn, 1, **load)
        opening, step = opening + widths * turn, step + widths * turn
    return CostModel(
        target_seconds=dict(enumerate(verify.tolist(), start=1)),
        draft_seconds=float(step[0]),
        draft_curve=dict(enumerate(opening.tolist(), start=1)),
    )


def draft_pass_seconds(
    deployment: Deployment, *, context: int, batch: int, widest: int
) -> dict[int, float]:
    """Returns t_q(n), the time of a draft's pass over n = 1, …, `widest` tokens per sequence."""
    if deployment.draft.parallel:
        raise ValueError(
            f"a tree needs a draft that drafts token by token, got {deployment.draft.kind}"
        )
    widths = np.arange(1, integer("widest", widest, at_least=1) + 1)
    seconds = deployment.seconds(deployment.draft.step, widths, context=context, batch=batch)
    return dict(enumerate(seconds.tolist(), start=1))


def prompt_seconds(deployment: Deployment, tokens: int) -> tuple[float, float]:
    """Returns the time to read a prompt of `tokens` tokens, without a draft and with the draft.

    Servers multiply only the last position by the output matrices of target and draft (vLLM:
    `EagleProposer.propose` takes logits of the last hidden state of each sequence).
    """

    def reading(shape: ModelShape, given: Conditions) -> float:
        parts, load = zip(shape.body_and_head, (tokens, 1), strict=True), {"context": 0, "batch": 1}
        passes = [
            forward_seconds(part, deployment.hardware, new_tokens=n, conditions=given, **load)
            for part, n in parts
            if part.weights or part.caches
        ]
        return float(sum(passes))

    plain = reading(deployment.target, deployment.conditions)
    return plain, plain + reading(deployment.draft.step, deployment.draft_conditions)


def operations_ratio(deployment: Deployment, *, context: int, batch: int = 1) -> float:
    """Returns ĉ, the operations of drafting one token over the operations of a target step."""
    draft = deployment.draft
    drafted, turn, decoded = (
        float(forward_flops(shape, new_tokens=1, context=context, batch=batch))
        for shape in (draft.step, draft.turn, deployment.target)
    )
    return (drafted + turn) / decoded


def draft_overhead_share(deployment: Deployment, *, context: int, batch: int) -> float:
    """Returns the share of a draft step's time that is fixed time per layer, in [0, 1]."""
    step = deployment.draft.step
    seconds = float(deployment.seconds(step, 1, context=context, batch=batch))
    return step.layers * deployment.draft_conditions.layer_overhead_seconds / seconds


def target_bytes(deployment: Deployment, *, context: int, batch: int) -> float:
    """Returns the bytes that the target's weights and caches take on each GPU."""
    load = {"context": context, "batch": batch}
    return float(memory_bytes(deployment.target, conditions=deployment.conditions, **load))


def needed_bytes(deployment: Deployment, *, context: int, batch: int) -> float:
    """Returns the bytes that both models' weights and caches take on each GPU."""
    load, shared = {"context": context, "batch": batch}, deployment.draft_conditions
    caches = replace(deployment.draft.step, weights=())
    of_draft = float(memory_bytes(caches, conditions=shared, **load))
    return target_bytes(deployment, **load) + of_draft + _held_bytes(deployment.draft, shared)


def _held_bytes(draft: DraftShape, conditions: Conditions) -> float:
    """Returns the bytes of a draft's own weights on each GPU."""
    experts = sum(weights.stored_bytes for weights in draft.step.only("experts") if weights.held)
    held = min(experts, draft.held_bytes)
    return held / conditions.gpus + (draft.held_bytes - held) / conditions.tp


def most_batch(deployment: Deployment, *, context: int) -> int:
    """Returns the largest batch that fits into each GPU's memory; 0 if none fits."""
    dp = deployment.conditions.dp
    one, two = (needed_bytes(deployment, context=context, batch=n * dp) for n in (1, 2))
    free = deployment.hardware.memory_bytes - one
    return 0 if free < 0 else dp * (1 + int(free // max(two - one, 1.0)))
