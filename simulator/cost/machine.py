"""Machines: the work of steps with and without drafts, whose parameters are in doubt."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from simulator.cost.parameters import Work, work
from simulator.numerics.arguments import integer, non_negative


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """A load: sequences and their lengths.

    context: tokens in each sequence's cache.
    batch: sequences decoded together.
    prompt_ratio: prompt tokens that are read in between for each emitted token, of the sequences
      whose turns a token waits for; 0: none.
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
    """The tokens that a block drafts and verifies: by default a chain and one token more.

    gamma: passes of the draft, or tokens of its one pass where it is parallel; at least 1.
    width: tokens that one pass of the draft takes (branches of a tree).
    verified: tokens of each sequence that the target passes over; None: γ + 1.
    """

    gamma: int
    width: int = 1
    verified: int | None = None

    def __post_init__(self) -> None:
        integer("gamma", self.gamma, at_least=1)
        integer("width", self.width, at_least=1)

    @property
    def new_tokens(self) -> int:
        """Tokens of each sequence that the target passes over."""
        return self.gamma + 1 if self.verified is None else self.verified


class Machine(ABC):
    """The work of each kind of step of a target and a draft on their hardware.

    Example: see FittedMachine, whose three parameters are a step, a block and a drafted token.
    """

    @abstractmethod
    def plain_work(self, load: LoadPoint) -> Work:
        """Returns the work of one baseline token of every sequence (no speculation)."""

    @abstractmethod
    def drafting_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        """Returns the work of the draft's passes of one block of every sequence."""

    @abstractmethod
    def checking_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        """Returns the rest of the block's work: verification, and the server's own work."""

    @abstractmethod
    def prompt_work(self, load: LoadPoint) -> Work:
        """Returns the work of others' prompts for one emitted token of every sequence."""

    def least_seconds(self, load: LoadPoint) -> float:
        """Returns a lower bound of a baseline step's seconds; 0: none is known."""
        return 0.0

    def block_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        """Returns the work of one block of every sequence."""
        return self.checking_work(load, drafting).plus(self.drafting_work(load, drafting), 1)

    def token_work(self, load: LoadPoint, drafting: Drafting | None, length: float) -> Work:
        """Returns the work of one emitted token of every sequence.

        Args:
          drafting: drafts of the block; None: no speculation.
          length: tokens that a block emits, at least 1; 1 without drafting.
        """
        prompts = self.prompt_work(load)
        if drafting is None:
            return prompts.plus(self.plain_work(load), 1)
        return prompts.plus(self.block_work(load, drafting), 1 / length)


class CachedMachine(Machine):
    """Wraps a machine and computes each work once, since plans need it many times."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._works: dict[tuple[Any, ...], Work] = {}

    def plain_work(self, load: LoadPoint) -> Work:
        return self._work("plain_work", load)

    def prompt_work(self, load: LoadPoint) -> Work:
        return self._work("prompt_work", load)

    def least_seconds(self, load: LoadPoint) -> float:
        return self.machine.least_seconds(load)

    def drafting_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        return self._work("drafting_work", load, drafting)

    def checking_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        return self._work("checking_work", load, drafting)

    def _work(self, *asked: Any) -> Work:
        if asked not in self._works:
            self._works[asked] = getattr(self.machine, asked[0])(*asked[1:])
        return self._works[asked]


@dataclass(frozen=True, slots=True)
class FittedMachine(Machine):
    """A machine known by its runs: a step, a share for each block and one for each drafted token.

    A step of the target takes "roof", a block "block" and each drafted token, with its
    verification, "draft"; all runs have to be of one load.
    """

    def plain_work(self, load: LoadPoint) -> Work:
        return work(roof=1)

    def drafting_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        return work(draft=drafting.gamma)

    def checking_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        return work(roof=1, block=1)

    def prompt_work(self, load: LoadPoint) -> Work:
        return work()
