"""Machines: the work of steps with and without drafts, as a function of uncertain parameters.

A work is a vector with an amount for each parameter and, last, seconds that no parameter scales
(all-reduces). Its seconds are linear in the amounts:

    seconds = Σ_i amounts_i · exp(θ_i) + fixed
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from simulator.numerics.arguments import Floats, integer, non_negative

# Factors multiply seconds that the roofline knows; the others are seconds themselves.
PARAMETERS = (
    "roof",  # time of reading and multiplying over its time at the roofs: 1 / efficiency
    "layer",  # seconds per layer of a pass, for any amount of work
    "experts",  # further experts that several tokens read, over their number in uniform routing
    "arithmetic",  # time of arithmetic of all tokens but the first, over its time at the peak rate
    "plain",  # seconds per step without speculation, in addition to the target's pass
    "block",  # seconds per block, in addition to the passes of both models
    "draft",  # seconds per pass of the draft, in addition to its roofline
    "sequence",  # seconds per sequence and token in a pass of the target
    "prompt",  # time of other requests' prompts while decoding, over its time at the peak rate
    "cache",  # time of reading the cache once in a pass, over its time at the roofs
    "recache",  # time of reading it for a sequence's further tokens, over its time at the roofs
)
COUNT = len(PARAMETERS)
# Amounts of PARAMETERS, at least 0, then seconds that no parameter scales: shape (COUNT + 1,).
Work = Floats


def work(*, fixed: float = 0.0, **amounts: float) -> Work:
    """Returns a work vector with these amounts by parameter name; all other amounts are 0."""
    for name in amounts:
        if name not in PARAMETERS:
            raise ValueError(f"parameter must be one of {', '.join(PARAMETERS)}, got {name}")
    return np.array([*(amounts.get(name, 0.0) for name in PARAMETERS), fixed])


def seconds_of(works: Work, logs: Floats) -> Floats:
    """Returns the seconds of work vectors.

    logs: natural logarithms θ of the parameters, shape (..., COUNT).
    works: shape (COUNT + 1,) or (n, COUNT + 1). Returns shape (...) or (..., n).
    """
    return np.asarray(np.exp(logs) @ works[..., :-1].T + works[..., -1])[()]


def log_slopes(works: Work, logs: Floats) -> Floats:
    """Returns the derivatives of log(seconds_of(works)) by θ, shape (n, COUNT)."""
    parts = works[:, :-1] * np.exp(logs)
    return np.asarray(parts / (parts.sum(axis=1) + works[:, -1])[:, None])


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """A load of a server.

    context: tokens in each sequence's cache.
    batch: sequences decoded together.
    prompt_ratio: tokens of other requests' prompts that the server reads per emitted token; 0 if
      it reads none while it decodes.
    """

    context: int
    batch: int = 1
    prompt_ratio: float = 0.0

    def __post_init__(self) -> None:
        integer("context", self.context)
        integer("batch", self.batch, at_least=1)
        non_negative("prompt_ratio", self.prompt_ratio)


@dataclass(frozen=True, slots=True)
class Drafting:
    """The tokens that a block drafts and verifies. The default is a chain of γ tokens.

    gamma: passes of the draft, or tokens of one pass of a parallel draft; at least 1.
    width: tokens that one pass of the draft reads (branches of a tree).
    verified: tokens of each sequence that the target reads; None means γ + 1.
    """

    gamma: int
    width: int = 1
    verified: int | None = None

    def __post_init__(self) -> None:
        integer("gamma", self.gamma, at_least=1)
        integer("width", self.width, at_least=1)

    @property
    def new_tokens(self) -> int:
        """Tokens of each sequence that the target reads."""
        return self.gamma + 1 if self.verified is None else self.verified


class Machine(ABC):
    """The work of each kind of step of a target and a draft on their hardware.

    Example: a step takes "roof" seconds, and each drafted token 5 % of it.

      >>> class Simple(Machine):
      ...     def plain_work(self, load): return work(roof=1)
      ...     def drafting_work(self, load, drafting): return work(roof=0.05 * drafting.gamma)
      ...     def checking_work(self, load, drafting): return work(roof=1)
      ...     def prompt_work(self, load): return work()
      >>> block = Simple().block_work(LoadPoint(context=0, batch=1), Drafting(4))
      >>> round(float(block.sum()), 6)
      1.2
    """

    @abstractmethod
    def plain_work(self, load: LoadPoint) -> Work:
        """Returns the work of a step that emits one baseline token in each sequence."""

    @abstractmethod
    def drafting_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        """Returns the work of the draft's passes in one block of every sequence."""

    @abstractmethod
    def checking_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        """Returns the remaining work of a block: verification, and the server's overhead."""

    @abstractmethod
    def prompt_work(self, load: LoadPoint) -> Work:
        """Returns the work on other requests' prompts while each sequence emits one token."""

    def least_seconds(self, load: LoadPoint) -> float:
        """Returns a lower bound of the seconds of a baseline step; 0 if no bound is known."""
        return 0.0

    def block_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        """Returns the work of one block of every sequence."""
        return self.checking_work(load, drafting) + self.drafting_work(load, drafting)

    def token_work(self, load: LoadPoint, drafting: Drafting | None, length: float) -> Work:
        """Returns the mean work of the server while each sequence of the batch emits one token.

        It includes the work on other requests' prompts that the server reads meanwhile.

        length: tokens that a block emits in each sequence, at least 1; 1 without speculation.
        """
        prompts = self.prompt_work(load)
        if drafting is None:
            return prompts + self.plain_work(load)
        return prompts + self.block_work(load, drafting) / length


class FittedMachine(Machine):
    """A machine described by three parameters, which are fitted to its runs at one load.

    A target step takes "roof", each block "block" in addition, and each drafted token, with its
    verification, "draft". All runs must have one load.
    """

    def plain_work(self, load: LoadPoint) -> Work:
        return work(roof=1)

    def drafting_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        return work(draft=drafting.gamma)

    def checking_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        return work(roof=1, block=1)

    def prompt_work(self, load: LoadPoint) -> Work:
        return work()
