"""The work of a deployment's steps from its models' shapes and its GPU's roofline."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property

from simulator.cost.fitted.machine import PARAMETERS, LoadPoint, Machine, Work, work
from simulator.cost.roofline.deployment import Deployment
from simulator.cost.roofline.forward import Conditions, all_reduce_seconds, forward_seconds
from simulator.cost.roofline.hardware import Hardware
from simulator.cost.roofline.shapes import ModelShape

# No step is faster than this share of its time at peak rate and bandwidth.
_REACHED = 0.9


@dataclass(frozen=True, eq=False)
class DeployedMachine(Machine):
    """A deployment whose steps consist of passes of its target and its draft.

    deployment: target, draft and GPUs. Its efficiency and time per layer are not used, because they
      are parameters here. A draft without layers is a lookup.
    """

    deployment: Deployment

    @abstractmethod
    def target_work(self, load: LoadPoint, new_tokens: int) -> Work:
        """Returns the work of the target's pass over `new_tokens` tokens of every sequence."""

    @abstractmethod
    def draft_seconds(self, load: LoadPoint, gamma: int, passes: int, width: int) -> float:
        """Returns the time to draft γ tokens in `passes` passes over `width` tokens each."""

    @abstractmethod
    def all_reduce(self, tokens: int, hidden: int, tp: int) -> float:
        """Returns the time in which several GPUs add up `tokens` vectors of `hidden` values."""

    def all_reduces(self, shape: ModelShape, tokens: int, tp: int) -> float:
        """Returns the time of a pass's all-reduces, two per layer; 0 on one GPU."""
        return 2 * shape.layers * self.all_reduce(tokens, shape.hidden, tp) if tp > 1 else 0.0

    @cached_property
    def _target(self) -> Callable[[LoadPoint, int], Work]:
        return cache(self.target_work)

    @cached_property
    def _draft(self) -> Callable[[LoadPoint, int, int, int], float]:
        return cache(self.draft_seconds)

    def plain_work(self, load: LoadPoint) -> Work:
        return self._target(load, 1) + work(plain=1)

    def block_pass(self, load: LoadPoint, new_tokens: int) -> Work:
        return self._target(load, new_tokens) + work(block=1)

    def drafting_work(self, load: LoadPoint, gamma: int, width: int = 1) -> Work:
        draft, tp = self.deployment.draft, self.deployment.draft_conditions.tp
        passes, wide = (1, gamma) if draft.parallel else (gamma, width)
        return work(
            roof=self._draft(load, gamma, passes, wide),
            layer=passes * draft.step.layers,
            draft=passes if draft.step.layers > 0 else 0,
            fixed=passes * self.all_reduces(draft.step, load.batch * wide, tp),
        )


class RooflineMachine(DeployedMachine):
    """A deployment priced by its GPU's roofline."""

    def draft_seconds(self, load: LoadPoint, gamma: int, passes: int, width: int) -> float:
        draft, tp = self.deployment.draft, self.deployment.draft_conditions.tp
        one, turn = (
            roof_seconds(shape, self.deployment.hardware, load, new_tokens=n, tp=tp)
            for shape, n in ((draft.step, width), (draft.turn, 1))
        )
        return passes * one + gamma * turn

    def all_reduce(self, tokens: int, hidden: int, tp: int) -> float:
        return float(all_reduce_seconds(self.deployment.hardware, values=tokens * hidden, gpus=tp))

    def prompt_work(self, tokens: float) -> Work:
        return work(prompt=tokens * self._token_arithmetic)

    def least_seconds(self, load: LoadPoint) -> float:
        # Kernels read weights and caches no faster than the data sheet, give or take its rounding.
        plain = self.plain_work(load)
        return _REACHED * float(plain[PARAMETERS.index("roof")] + plain[PARAMETERS.index("cache")])

    def target_work(self, load: LoadPoint, new_tokens: int) -> Work:
        shape, hardware = self.deployment.target, self.deployment.hardware
        tp = self.deployment.conditions.tp
        dense = replace(shape, weights=shape.without("experts"), caches=())
        sparse = replace(shape, weights=shape.only("experts"), caches=())
        cached, again = (
            roof_seconds(replace(shape, weights=()), hardware, load, new_tokens=n, tp=tp)
            for n in (new_tokens, 1)
        )
        few = roof_seconds(sparse, hardware, load, new_tokens=1, tp=tp)
        tokens = load.batch * new_tokens
        return work(
            roof=roof_seconds(dense, hardware, load, new_tokens=new_tokens, tp=tp) + few,
            layer=shape.layers,
            experts=roof_seconds(sparse, hardware, load, new_tokens=new_tokens, tp=tp) - few,
            arithmetic=(tokens - 1) * self._token_arithmetic,
            sequence=tokens,
            cache=cached,
            recache=(new_tokens - 1) * again,
            fixed=self.all_reduces(shape, tokens, tp),
        )

    @property
    def _token_arithmetic(self) -> float:
        """Seconds to multiply one token by the target's weights, at the GPU's peak rate."""
        target = self.deployment.target
        peak = self.deployment.hardware.flops(target.activations)
        return 2 * target.active_parameters / peak / self.deployment.conditions.tp


def roof_seconds(
    shape: ModelShape, hardware: Hardware, load: LoadPoint, *, new_tokens: int, tp: int
) -> float:
    """Returns the seconds of a pass at peak rate and bandwidth, without all-reduces."""
    if not shape.weights and not shape.caches:
        return 0.0
    alone, conditions = replace(shape, layers=0), Conditions(tp=tp)
    sizes = {"new_tokens": new_tokens, "context": load.context, "batch": load.batch}
    return float(forward_seconds(alone, hardware, conditions=conditions, **sizes))
