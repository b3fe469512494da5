"""Cost: the times of drafting and checking a block; `Ratio` is the cost of Theorem 8."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from simulator.cost.setting import CostSetting
from simulator.numerics.arguments import Floats, integers, non_negative
from simulator.numerics.elementwise import by_gamma

if TYPE_CHECKING:
    from simulator.cost.fitted.runs import LoadPoint, Run
    from simulator.cost.law import CostLaw

_ANYWHERE = CostSetting()


class Cost(ABC):
    """Times of drafting and verifying a block, and of a baseline token (without speculation).

    Acceptance and cost together give a plan. The unit of time is a second, or a target step if
    `in_seconds` is false. gamma: drafted tokens per block, at least 0, shape (...).

    A subclass has the four members without a default. Example: a target step takes 10 ms for any
    number of tokens, a draft step 1 ms.

      >>> class Flat(Cost):
      ...     baseline_seconds = 0.010
      ...     c = 0.1
      ...     def drafting_seconds(self, gamma): return 0.001 * np.asarray(gamma)
      ...     def checking_seconds(self, gamma): return np.full(np.shape(gamma), 0.010)
      >>> float(Flat().block_seconds(4))
      0.014
    """

    @property
    def setting(self) -> CostSetting:
        """The load to which the times apply, and limits of drafts there."""
        return _ANYWHERE

    @property
    def in_seconds(self) -> bool:
        """Whether times are in seconds; if not, the unit of time is one target step."""
        return True

    @property
    def observed_gamma(self) -> int | None:
        """The largest γ with a measured time; None if a formula gives every γ."""
        return None

    @property
    def by_steps(self) -> bool:
        """Whether each drafted token takes one draft step, so that c describes drafting."""
        return True

    @property
    def step_seconds(self) -> float:
        """Time of a target pass over one token, t_p(1)."""
        return self.baseline_seconds

    @property
    @abstractmethod
    def baseline_seconds(self) -> float:
        """Time per baseline token (without speculation), including overhead."""

    @property
    @abstractmethod
    def c(self) -> float:
        """Time of one draft step over time of one target step (Leviathan et al. 2023, Def. 7)."""

    @property
    def verification_free(self) -> bool:
        """Whether a target pass over several tokens takes as long as a pass over one token."""
        return False

    @property
    def theorem8(self) -> bool:
        """Whether Theorem 8 and Corollary 9 apply: `verification_free`, without overhead."""
        return False

    @abstractmethod
    def drafting_seconds(self, gamma: ArrayLike) -> Floats:
        """Returns the time of drafting γ tokens."""

    @abstractmethod
    def checking_seconds(self, gamma: ArrayLike) -> Floats:
        """Returns a block's time except drafting: verifying γ drafted tokens, and overhead."""

    def block_seconds(self, gamma: ArrayLike) -> Floats:
        """Returns the time of one block with γ drafted tokens.

        At γ = 0 a block still has the overhead of speculation; decoding without speculation takes
        baseline_seconds per token instead.
        """
        return np.asarray(self.drafting_seconds(gamma) + self.checking_seconds(gamma))[()]

    @property
    def posterior(self) -> CostLaw | None:
        """The distribution of the cost's parameters; None if the times are exact."""
        return None

    @property
    def point(self) -> LoadPoint | None:
        """The load at which `posterior` is evaluated; None if the times are exact."""
        return None

    @property
    def own_runs(self) -> list[Run]:
        """The runs at exactly this load, among those that `posterior` was fitted to."""
        runs = () if self.posterior is None else self.posterior.runs
        return [run for run in runs if run.load == self.point]

    def draft_passes(self, widest: int) -> Mapping[int, float] | None:
        """Returns the times of draft passes over n tokens of a sequence, for n = 1 to `widest`.

        By default only n = 1 is known, one draft step. None: runs give times of whole blocks only.
        """
        return None if self.posterior is not None else {1: self.c * self.step_seconds}

    def prompt_seconds(self, tokens: int) -> tuple[float, float] | None:
        """Returns the time to read a prompt, without and with a draft; None if not known."""
        return None

    def with_setting(self, **changes: Any) -> Cost:
        """Returns this cost with some fields of its `setting` changed."""
        return ChangedCost(self, setting=replace(self.setting, **changes))

    def reading_again(self, rejected: Callable[[int], Floats]) -> Cost:
        """Returns the cost if the target reads a block's accepted tokens again after a rejection.

            t(γ) = t_0(γ) + Σ_{a<γ} P(rejected after a accepted tokens) · t_p(a + 1)

        t_0(γ): block time of this cost; t_p(n): its target pass over n tokens (`docs/hybrids.md`).
        rejected: maps γ to the probability of a rejection after 0, …, γ - 1 accepted tokens.
        """

        def again(length: int) -> float:
            # All blocks contain the time outside their pass, so that differences cancel it.
            outside = self.checking_seconds(0) - self.step_seconds
            return float(rejected(length) @ (self.checking_seconds(np.arange(length)) - outside))

        return ChangedCost(self, again=again)


@dataclass(frozen=True, slots=True)
class Ratio(Cost):
    """A block of γ tokens takes γc + 1 steps of the target (Leviathan et al. 2023, Theorem 8).

    c: time of one draft step over time of one target step, at least 0.
    """

    c: float = field()
    in_seconds = False
    baseline_seconds = 1.0
    verification_free = theorem8 = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", float(non_negative("c", self.c)))

    def drafting_seconds(self, gamma: ArrayLike) -> Floats:
        return np.asarray(integers("gamma", gamma) * self.c)[()]

    def checking_seconds(self, gamma: ArrayLike) -> Floats:
        return np.ones(integers("gamma", gamma).shape)[()]


@dataclass(frozen=True, slots=True)
class ChangedCost(Cost):
    """Another cost, `inner`, in its unit: another setting, a new drafting, a longer checking time.

    drafting: maps γ, at least 1, to the time to draft γ tokens; None: the drafting time of `inner`.
    again: maps γ, at least 1, to a time that is added to `checking_seconds` of `inner`; None: 0.
    """

    inner: Cost
    drafting: Callable[[int], float] | None = None
    again: Callable[[int], float] | None = None
    setting: CostSetting = _ANYWHERE
    in_seconds: bool = field(init=False)
    observed_gamma: int | None = field(init=False)
    step_seconds: float = field(init=False)
    baseline_seconds: float = field(init=False)
    c: float = field(init=False)

    def __post_init__(self) -> None:
        for name in ("in_seconds", "observed_gamma", "step_seconds", "baseline_seconds", "c"):
            object.__setattr__(self, name, getattr(self.inner, name))
        if self.setting is _ANYWHERE:
            object.__setattr__(self, "setting", self.inner.setting)

    @property
    def same_times(self) -> bool:
        """Whether all times equal the times of `inner`: only the setting differs."""
        return self.drafting is None and self.again is None

    @property
    def by_steps(self) -> bool:
        return self.drafting is None and self.inner.by_steps

    @property
    def verification_free(self) -> bool:
        return self.again is None and self.inner.verification_free

    @property
    def theorem8(self) -> bool:
        return self.same_times and self.inner.theorem8

    @property
    def posterior(self) -> CostLaw | None:
        return self.inner.posterior if self.same_times else None

    @property
    def point(self) -> LoadPoint | None:
        return self.inner.point if self.same_times else None

    def drafting_seconds(self, gamma: ArrayLike) -> Floats:
        if self.drafting is None:
            return self.inner.drafting_seconds(gamma)
        return _of_drafts(gamma, self.drafting)

    def checking_seconds(self, gamma: ArrayLike) -> Floats:
        seconds = self.inner.checking_seconds(gamma)
        return seconds if self.again is None else seconds + _of_drafts(gamma, self.again)

    def draft_passes(self, widest: int) -> Mapping[int, float] | None:
        return self.inner.draft_passes(widest)

    def prompt_seconds(self, tokens: int) -> tuple[float, float] | None:
        return self.inner.prompt_seconds(tokens)

    def with_setting(self, **changes: Any) -> Cost:
        same = copy(self)  # `replace` would compute the times again
        object.__setattr__(same, "setting", replace(self.setting, **changes))
        return same

    def reading_again(self, rejected: Callable[[int], Floats]) -> Cost:
        if self.same_times:  # an uncertain cost is fitted again
            return replace(self, inner=self.inner.reading_again(rejected))
        return Cost.reading_again(self, rejected)


def _of_drafts(gamma: ArrayLike, seconds: Callable[[int], float]) -> Floats:
    return by_gamma(gamma, lambda length: seconds(length) if length > 0 else 0.0)
