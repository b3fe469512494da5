"""A draft as it is run: the shape of one of its passes, and how many tokens a pass drafts."""

from dataclasses import dataclass, replace
from typing import Literal

from simulator.cost.model_shape import ModelShape, Weights

DraftKind = Literal[
    "model", "EAGLE", "EAGLE-3", "P-EAGLE", "MTP", "Medusa", "DFlash", "DSpark", "Domino",
    "MLP speculator", "Gemma assistant", "PARD",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class DraftShape:
    """A draft model or a head on the target's hidden states.

    step: the shape of one step. Of a model and of heads that draft token by token, one pass; of
      Medusa, the head of one position; of parallel drafts, the pass over all positions.
    parallel: whether one pass over γ positions drafts γ tokens.
    longest: tokens that it can draft at most; None if any number.
    held_bytes: its memory without caches and without weights that it borrows from the target.
    once: weights that a block is multiplied by once, however many tokens it drafts.
    in_turn: weights that every token of a parallel draft takes, one token after another.
    stated_gamma: how many tokens its configuration says that it drafts; None: it does not say.
    multiple: layers that are run again: a longer draft than these must be a multiple of them.
    """

    kind: DraftKind
    step: ModelShape
    parallel: bool
    longest: int | None
    held_bytes: float
    once: tuple[Weights, ...] = ()
    in_turn: tuple[Weights, ...] = ()
    stated_gamma: int | None = None
    multiple: int = 1

    @property
    def is_model(self) -> bool:
        """Whether it is a model of its own, not a head on the target's states."""
        return self.kind == "model"

    @property
    def opening(self) -> ModelShape:
        """The first step of a block: a step, and what is needed once."""
        return replace(self.step, weights=(*self.step.weights, *self.once))

    @property
    def turn(self) -> ModelShape:
        """Work of each token of a parallel draft after the pass: no layer, and no cache."""
        return replace(self.step, layers=0, weights=self.in_turn, caches=())
