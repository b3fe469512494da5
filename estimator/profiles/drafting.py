"""Acceptance under one way of drafting, as a profile has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from estimator.traces.traces import Verification
from simulator.acceptance.acceptance import Acceptance
from simulator.acceptance.by_position import ByPosition
from simulator.acceptance.recorded import Recorded

Rate = Annotated[float, msgspec.Meta(ge=0, le=1)]
Positive = Annotated[float, msgspec.Meta(gt=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Gamma = Annotated[int, msgspec.Meta(ge=1)]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval, which is absent where the data give none."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Alpha:
    """E[β] with its interval, and what it is the mean of."""

    value: Rate
    low: float | None = None
    high: float | None = None
    confidence: Rate | None = None
    tokens: Count | None = None
    prompts: Count | None = None


@dataclass(frozen=True, slots=True)
class Drafting:
    """Acceptance under one way of drafting.

    blocks: by γ = 1, 2, …, the expected number of blocks that draft 0, …, γ tokens for each token
      of the texts: the replay of the traces (`simulator.acceptance.recorded`). Empty where none
      was recorded.
    blocks_jointly: the same where drafts are judged as a whole: block verification.
    accepted_by_position: unconditional rates, of the longest draft replayed, or those that a server
      counted, in place of blocks.
    cut_short: the share of positions that its blocks left undrafted, as where texts end; above 1 %
      these rates and α are bounds from below.
    alpha_by_lenience: α(l) by lenience l.
    acceptance_by_rank: how often the text's token is the draft's first, second, … choice: what
      trees are planned with. Empty where the draft makes one choice alone.
    """

    alpha: Alpha
    blocks: Mapping[Gamma, tuple[NotNegative, ...]] = field(default_factory=dict)
    blocks_jointly: Mapping[Gamma, tuple[NotNegative, ...]] = field(default_factory=dict)
    accepted_by_position: tuple[Estimate, ...] = ()
    cut_short: Rate = 0.0
    alpha_by_lenience: Mapping[float, Rate] = field(default_factory=dict)
    acceptance_by_rank: tuple[Rate, ...] = ()

    @property
    def acceptance(self) -> Acceptance:
        """To plan with: the replay, or the rates by position.

        Raises:
          ValueError: if there is neither, or the numbers contradict each other.
        """
        if self.blocks:
            return Recorded(self.alpha.value, self.blocks)
        if not self.accepted_by_position:
            raise ValueError("a profile must hold blocks or accepted_by_position, got neither")
        rates = [rate.value for rate in self.accepted_by_position]
        return ByPosition.of_unconditional(rates, cut_short=self.cut_short)

    def under(self, verification: Verification) -> Acceptance:
        """Returns the acceptance where drafts are judged token by token, or as a whole.

        Raises:
          ValueError: if the profile does not tell, or the numbers contradict each other.
        """
        if verification == "token":
            return self.acceptance
        if not self.blocks_jointly:
            raise ValueError(
                "the profile must hold blocks_jointly to plan block verification, got none: "
                "measure anew with specplan's own decoder (an engine tells how likely a text's own "
                "tokens are, not the whole laws that block verification compares)"
            )
        return Recorded(self.alpha.value, self.blocks_jointly)
