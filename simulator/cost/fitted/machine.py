"""Machines: the work of steps with and without drafts, as a function of uncertain parameters.

A work is a vector with an amount for each parameter and, last, seconds that no parameter scales
(exchanges between GPUs). Its seconds are linear in the amounts:

    seconds = Σ_i amounts_i · exp(θ_i) + fixed
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np

from simulator.cost.fitted.runs import LoadPoint, Run
from simulator.cost.roofline.deployment import Deployment, drawing_seconds, judging_seconds
from simulator.cost.roofline.forward import roof_seconds
from simulator.cost.roofline.shapes import ModelShape
from simulator.cost.roofline.sharing import Conditions, exchange_seconds
from simulator.numerics.arguments import Floats

# Factors multiply seconds that the roofline knows; the others are seconds themselves.
PARAMETERS = (
    "roof",  # time of reading and multiplying over its time at the roofs: 1 / efficiency
    "layer",  # seconds per layer of a pass, for any amount of work
    "experts",  # further experts that several tokens read, over their number in uniform routing
    "arithmetic",  # time of arithmetic of all tokens but the first, over its time at the peak rate
    "plain",  # seconds per step without speculation, in addition to the target's pass
    "block",  # seconds per block, in addition to the passes of both models
    "draft",  # seconds per pass of the draft beyond its roofline; of an eager one per layer
    "sequence",  # seconds per sequence and token in a pass of the target
    "prompt",  # time of other requests' prompts while decoding, over its time at the peak rate
    "cache",  # time of reading the cache once in a pass, over its time at the roofs
    "recache",  # time of reading it for a sequence's further tokens, over its time at the roofs
)
COUNT = len(PARAMETERS)
_PLACES = {name: place for place, name in enumerate(PARAMETERS)}
# Amounts of PARAMETERS, at least 0, then seconds that no parameter scales: shape (COUNT + 1,).
Work = Floats


def work(*, fixed: float = 0.0, **amounts: float) -> Work:
    """Returns a work vector with the given amounts, named as in PARAMETERS; the others are 0."""
    vector = np.zeros(COUNT + 1)
    vector[COUNT] = fixed
    for name, amount in amounts.items():
        if name not in _PLACES:
            raise ValueError(f"parameter must be one of {', '.join(PARAMETERS)}, got {name}")
        vector[_PLACES[name]] = amount
    return vector


def seconds_of(works: Work, logs: Floats) -> Floats:
    """Returns the seconds that work vectors take at given parameters.

    logs: natural logarithms θ of the parameters, shape (..., COUNT).
    works: shape (COUNT + 1,) or (n, COUNT + 1). Returns shape (...) or (..., n).
    """
    return np.asarray(np.exp(logs) @ works[..., :-1].T + works[..., -1])[()]


@dataclass(frozen=True, eq=False)
class Machine(ABC):
    """The work (an amount of each parameter, see `Work`) of the steps of a target and a draft.

    rejected: maps γ to the probability of a rejection after 0, …, γ - 1 accepted tokens, if the
      target reads accepted tokens again after a rejection (`docs/hybrids.md`); else None.

    Example: a step takes "roof" seconds, and each drafted token 5 % of it.

      >>> class Simple(Machine):
      ...     def plain_work(self, load): return work(roof=1)
      ...     def drafting_work(self, load, gamma, width=1): return work(roof=0.05 * gamma)
      ...     def block_pass(self, load, new_tokens): return work(roof=1)
      >>> block = Simple().block_work(LoadPoint(context=0, batch=1), gamma=4)
      >>> round(float(block.sum()), 6)
      1.2
    """

    rejected: Callable[[int], Floats] | None = field(default=None, kw_only=True)

    @abstractmethod
    def plain_work(self, load: LoadPoint) -> Work:
        """Returns the work of a step without speculation: one token in each sequence."""

    @abstractmethod
    def drafting_work(self, load: LoadPoint, gamma: int, width: int = 1) -> Work:
        """Returns the work to draft γ tokens; a draft pass reads `width` tokens per sequence."""

    @abstractmethod
    def block_pass(self, load: LoadPoint, new_tokens: int) -> Work:
        """Returns the work to verify `new_tokens` tokens per sequence, and a block's overhead."""

    def checking_work(self, load: LoadPoint, new_tokens: int) -> Work:
        """Returns the work of a block except drafting: verification, and the server's overhead.

        If the target reads accepted tokens again after a rejection (`rejected`), each rejection
        after n accepted tokens adds a pass over n + 1 tokens, without the overhead.
        """
        block = self.block_pass(load, new_tokens)
        if self.rejected is None:
            return block
        overhead = self.block_pass(load, 1) - self.plain_work(load)
        chances = enumerate(self.rejected(new_tokens - 1).tolist(), start=1)
        again = sum(chance * (self.block_pass(load, n) - overhead) for n, chance in chances)
        return np.asarray(block + again)

    def least_seconds(self, load: LoadPoint) -> float:
        """Returns a lower bound of the seconds of a baseline step; 0 if no bound is known."""
        return 0.0

    def prompt_work(self, tokens: float) -> Work:
        """Returns the work of the target's pass over `tokens` prompt tokens."""
        return work()

    def run_work(self, run: Run) -> Work:
        """Returns the work per emitted token of a run; interpolated if `drafted` is not whole."""
        if run.drafted is None:
            return self.token_work(run.load, run.gamma, run.length)
        least = max(1, int(run.drafted))
        below, above = (
            self.token_work(run.load, gamma, run.length) for gamma in (least, least + 1)
        )
        return below + (run.drafted - least) * (above - below)

    def block_work(self, load: LoadPoint, gamma: int) -> Work:
        """Returns the work of one block of every sequence; γ at least 1."""
        return self.checking_work(load, gamma + 1) + self.drafting_work(load, gamma)

    def token_work(self, load: LoadPoint, gamma: int, length: float) -> Work:
        """Returns the mean work of the server while each sequence of the batch emits one token.

        length: tokens that a block emits in each sequence, at least 1; 1 at γ = 0 (no speculation).
        """
        return self.block_work(load, gamma) / length if gamma else self.plain_work(load)


@dataclass(frozen=True, eq=False)
class DeployedMachine(Machine):
    """A deployment whose steps consist of passes of its target and its draft.

    deployment: target, draft and GPUs. A draft without layers looks up its tokens (n-grams).
      Efficiency and time per layer are parameters here.
    """

    deployment: Deployment

    @abstractmethod
    def target_work(self, load: LoadPoint, new_tokens: int) -> Work:
        """Returns the work of the target's pass over `new_tokens` tokens of every sequence."""

    @abstractmethod
    def draft_passes(self, load: LoadPoint, width: int) -> tuple[float, float, float]:
        """Returns the seconds of a draft pass over `width` tokens per sequence, and of two reads.

        They are of `DraftShape.once`, once in a block, and of `DraftShape.in_turn`, at each token.
        """

    @abstractmethod
    def layer_exchange(self, shape: ModelShape, tokens: int, given: Conditions) -> float:
        """Returns the seconds of the exchanges in a layer for `tokens` of a replica."""

    def exchanges(self, shape: ModelShape, tokens: int, given: Conditions) -> float:
        """Returns the seconds of all exchanges in a pass; 0 on one GPU."""
        return shape.layers * self.layer_exchange(shape, tokens, given) if given.gpus > 1 else 0.0

    @cached_property
    def _target(self) -> Callable[[LoadPoint, int], Work]:
        return cache(self.target_work)

    @cached_property
    def _draft(self) -> Callable[[LoadPoint, int], tuple[float, float, float]]:
        return cache(self.draft_passes)

    def plain_work(self, load: LoadPoint) -> Work:
        return self._target(load, 1) + work(plain=1)

    def block_pass(self, load: LoadPoint, new_tokens: int) -> Work:
        judged = judging_seconds(self.deployment, batch=load.batch, drafted=new_tokens - 1)
        return self._target(load, new_tokens) + work(block=1, fixed=judged)

    def drafting_work(self, load: LoadPoint, gamma: int, width: int = 1) -> Work:
        draft, given = self.deployment.draft, self.deployment.draft_conditions
        passes, wide = (1, gamma) if draft.parallel else (gamma, width)
        tokens = given.replica_batch(load.batch) * wide
        one, once, turn = self._draft(load, wide)
        drawing = drawing_seconds(self.deployment, batch=load.batch, drafted=gamma)
        layers, exchanged = draft.step.layers, self.exchanges(draft.step, tokens, given)
        if self.deployment.launch_seconds > one + exchanged:  # the GPU waits for launches
            return work(roof=once + gamma * turn, draft=passes * layers, fixed=drawing)
        return work(
            roof=passes * one + once + gamma * turn,
            layer=passes * layers,
            draft=passes if layers > 0 and self.deployment.launch_seconds == 0 else 0,
            fixed=passes * exchanged + drawing,
        )


class RooflineMachine(DeployedMachine):
    """A deployment whose passes are timed by the roofline: peak arithmetic rate and bandwidth."""

    def draft_passes(self, load: LoadPoint, width: int) -> tuple[float, float, float]:
        draft, given = self.deployment.draft, self.deployment.draft_conditions
        turn = self._roof(draft.turn, load, 1, given)
        return self._roof(draft.step, load, width, given), 0.0, turn

    def layer_exchange(self, shape: ModelShape, tokens: int, given: Conditions) -> float:
        hardware, sent = self.deployment.hardware, np.array(float(tokens))
        return float(exchange_seconds(shape, hardware, tokens=sent, conditions=given))

    def prompt_work(self, tokens: float) -> Work:
        return work(prompt=tokens * self._token_arithmetic / self.deployment.conditions.dp)

    def least_seconds(self, load: LoadPoint) -> float:
        # Kernels read weights and caches no faster than the data sheet, give or take its rounding.
        plain = self.plain_work(load)
        return 0.9 * float(plain[PARAMETERS.index("roof")] + plain[PARAMETERS.index("cache")])

    def target_work(self, load: LoadPoint, new_tokens: int) -> Work:
        shape, given = self.deployment.target, self.deployment.conditions
        dense = replace(shape, weights=shape.without("experts"), caches=())
        sparse = replace(shape, weights=shape.only("experts"), caches=())
        caches, tokens = replace(shape, weights=()), given.replica_batch(load.batch) * new_tokens

        def seconds(part: ModelShape, n: int) -> float:
            return self._roof(part, load, n, given)

        few = seconds(sparse, 1)
        return work(
            roof=seconds(dense, new_tokens) + few,
            layer=shape.layers,
            experts=seconds(sparse, new_tokens) - few,
            arithmetic=(tokens - 1) * self._token_arithmetic,
            sequence=tokens,
            cache=seconds(caches, new_tokens),
            recache=(new_tokens - 1) * seconds(caches, 1),
            fixed=self.exchanges(shape, tokens, given),
        )

    def _roof(self, part: ModelShape, load: LoadPoint, new_tokens: int, given: Conditions) -> float:
        sizes = {"new_tokens": new_tokens, "context": load.context, "batch": load.batch}
        return roof_seconds(part, self.deployment.hardware, conditions=given, **sizes)

    @property
    def _token_arithmetic(self) -> float:
        """Seconds to multiply one token by the target's weights, at the GPU's peak rate."""
        target = self.deployment.target
        peak = self.deployment.hardware.flops(target.activations)
        return 2 * target.active_parameters / peak / self.deployment.conditions.tp
