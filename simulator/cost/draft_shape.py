"""The shape of a draft: the work of one of its passes, and the tokens that a pass drafts."""

from dataclasses import dataclass, replace
from typing import Literal

from simulator.cost.model_shape import ModelShape, Weights

DraftKind = Literal[
    "model", "EAGLE", "EAGLE-3", "P-EAGLE", "MTP", "Medusa", "DFlash", "DSpark", "Domino",
    "MLP speculator", "Gemma assistant", "PARD",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class DraftShape:
    """The shape of a draft model, or of a head on the target's hidden states.

    step: the shape of one step: one pass of a model or of a head that drafts token by token; the
      head of one position of Medusa; the pass over all positions of a parallel draft.
    parallel: whether one pass over γ positions drafts γ tokens.
    longest: most tokens that it can draft; None if there is no limit.
    held_bytes: its memory without caches and without weights shared with the target.
    once: weights that a block reads once, for any number of drafted tokens.
    in_turn: weights that a parallel draft reads for one token after another.
    stated_gamma: number of drafted tokens in its configuration; None if there is none.
    multiple: number of its layers, if longer drafts run all layers again, in multiples of this.
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
        """Whether the draft is a separate model, not a head on the target's states."""
        return self.kind == "model"

    @property
    def opening(self) -> ModelShape:
        """The shape of a block's first step: a step, and the weights that a block reads once."""
        return replace(self.step, weights=(*self.step.weights, *self.once))

    @property
    def turn(self) -> ModelShape:
        """The shape of each token's work after a parallel draft's pass: no layers and no cache."""
        return replace(self.step, layers=0, weights=self.in_turn, caches=())
