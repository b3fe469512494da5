"""Acceptance: how often drafted tokens are accepted, equally at all positions or by position."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.tokens import expected_tokens
from simulator.cost.cost import Cost
from simulator.numerics.arguments import Floats, integers, probability

Kind = Literal["iid", "by_position", "replay", "tree"]
# Maps numbers of drafted tokens, shape (...), to the cost of each block.
Price = Callable[[NDArray[np.int64]], Floats]
# Largest error of i.i.d. acceptance, in tokens per call, at which it may replace the measured one.
IID_TOLERANCE = 0.05


@dataclass(frozen=True, slots=True)
class Source:
    """Where an acceptance comes from; it changes no number, and does not enter equality.

    counted: whether α was inferred from counts, assuming i.i.d. acceptances.
    draft_sampling: "sampled", or "argmax" if drafts take the likeliest tokens; None: not known.
    verification: whether drafts are verified by "token" or by "block"; None: not known.
    temperature: temperature of the target; None: not known.
    quiet: whether the machine was quiet while the acceptance was measured; None: not known.
    notes: sentences for readers of a plan.
    recorded: device and date of the profile; "" for what was not recorded.
    """

    counted: bool = False
    draft_sampling: Literal["sampled", "argmax"] | None = None
    verification: Literal["token", "block"] | None = None
    temperature: float | None = None
    quiet: bool | None = None
    notes: tuple[str, ...] = ()
    recorded: str = ""

    @property
    def sampling(self) -> str:
        """The temperature and draft sampling for which the acceptance holds, in words."""
        heat = "not stated" if self.temperature is None else f"{self.temperature:g}"
        way = self.draft_sampling
        return f"temperature {heat}, {f'{way} drafts' if way else 'draft sampling not stated'}"


STATED = Source()


class Acceptance(ABC):
    """How often drafted tokens are accepted, for any number γ of drafted tokens per block.

    Acceptance and cost together give a plan. A subclass implements `per_token`. In this example
    half of the blocks are accepted whole, and the other half not at all:

      >>> class AllOrNothing(Acceptance):
      ...     def per_token(self, price, gamma):
      ...         return price(np.asarray(gamma)) / (1 + np.asarray(gamma) / 2)
      >>> float(AllOrNothing().tokens_per_call(4))
      3.0
    """

    @property
    def kind(self) -> Kind:
        """The kind of acceptance: iid, by_position, replay or tree."""
        return "by_position"

    @property
    def alpha(self) -> float:
        """The acceptance rate α in [0, 1], i.i.d. if counted; by default of the first token."""
        return float(self.tokens_per_call(1)) - 1

    @property
    def observed_gamma(self) -> int | None:
        """The largest γ with observed acceptances; None if a formula gives every γ."""
        return None

    @property
    def source(self) -> Source:
        """Where the acceptance comes from; by default a user stated it."""
        return STATED

    @property
    def most_gamma(self) -> int | None:
        """The largest γ that may be advised from these observations; None if there is no limit."""
        return None

    @property
    def contradictions(self) -> tuple[str, ...]:
        """Warnings, one sentence each, about counts that contradict each other."""
        return ()

    @property
    def is_lower_bound(self) -> bool:
        """Whether the rates are too low because counted blocks drafted fewer tokens than γ."""
        return False

    @property
    def tells_iid(self) -> bool:
        """Whether the observations can show that acceptance rates differ by position."""
        return False

    def at_context(self, context: int) -> Acceptance:
        """Returns the acceptance at `context` cached tokens; `self` if context has no effect."""
        return self

    def for_draft(self, draft_class: str | None) -> Acceptance:
        """Returns the acceptance of a class of drafts, which has a prior for uncounted positions.

        By default the class has no effect. None: the class is not known.
        """
        return self

    @abstractmethod
    def per_token(self, price: Price, gamma: ArrayLike) -> Floats:
        """Returns the expected price of all blocks of a long text, divided by the text's tokens.

        price: maps the number of tokens that a block drafts to the block's price: a time, or 1 if
          blocks are counted. A block may draft fewer than γ tokens, as near the end of a text.
        gamma: largest number of tokens that a block drafts, at least 0, shape (...).
        """

    def tokens_per_call(self, gamma: ArrayLike) -> Floats:
        """Returns emitted tokens per target call in long texts: the block efficiency E[τ]."""
        return np.asarray(1 / self.per_token(lambda drafted: np.ones(drafted.shape), gamma))[()]

    def log_lengths(self, gamma: ArrayLike) -> tuple[Floats, Floats]:
        """Returns the logarithms of the mean tokens per block, and the covariance of their errors.

        gamma: at least 1, shape (n,). The covariance, shape (n, n), is zero for exact rates.
        """
        lengths = np.atleast_1d(self.tokens_per_call(gamma))
        return np.log(lengths), np.zeros((len(lengths), len(lengths)))

    def drafted_per_token(self, gamma: ArrayLike) -> Floats:
        """Returns the number of drafted tokens over the number of emitted tokens."""
        return self.per_token(lambda drafted: drafted.astype(np.float64), gamma)

    def rejected(self, gamma: int) -> Floats:
        """Returns the probability that a block accepts a = 0, …, γ - 1 tokens and rejects the next.

        Position i is reached and accepted with probability E[τ(i)] - E[τ(i - 1)].
        """
        stands = np.diff(self.tokens_per_call(np.arange(gamma + 1)), prepend=0.0)
        return np.maximum(stands[:-1] - stands[1:], 0.0)

    def seconds_per_token(self, gamma: ArrayLike, cost: Cost) -> Floats:
        """Returns the mean time per emitted token, in the unit of the cost."""
        return self.per_token(cost.block_seconds, gamma)


def iid_error(acceptance: Acceptance, *, max_gamma: int) -> tuple[float, int] | None:
    """Returns the largest error of assuming i.i.d. acceptance, and the γ that has this error.

    The error is (tokens per call if acceptance is i.i.d.) / (observed tokens per call) - 1. None:
    the observations cannot show whether rates differ by position.
    """
    if not acceptance.tells_iid:
        return None
    last = max_gamma if acceptance.observed_gamma is None else acceptance.observed_gamma
    gammas = np.arange(1, min(last, max_gamma) + 1)
    observed = acceptance.tokens_per_call(gammas)
    errors = expected_tokens(acceptance.alpha, gammas) / observed - 1
    worst = int(np.abs(errors).argmax())
    return float(errors[worst]), int(gammas[worst])


@dataclass(frozen=True, slots=True)
class Iid(Acceptance):
    """Each drafted token is accepted with probability α (Leviathan et al. 2023, §3.1).

    observed_gamma: the largest γ of the counted drafts; None if α was not counted.
    """

    alpha: float = field()
    observed_gamma: int | None = None
    source: Source = field(default=STATED, compare=False, repr=False)
    kind = "iid"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", float(probability("alpha", self.alpha)))

    def per_token(self, price: Price, gamma: ArrayLike) -> Floats:
        lengths = integers("gamma", gamma)
        return np.asarray(price(lengths) / expected_tokens(self.alpha, lengths))[()]


# Rates are lower bounds if a larger share of the positions was not drafted.
CUT_SHORT = 0.01


@dataclass(frozen=True, slots=True)
class PositionRates(Acceptance):
    """Position i of a block has its own acceptance rate r_i, given that i - 1 were accepted.

        E[τ(γ)] = 1 + Σ_{i≤γ} r_1 … r_i

    The rates are assumed equal for all γ. Later positions get the last rate. Texts are long.

    conditional: r_1, …, r_γ, each in [0, 1], at least one.
    cut_short: share in [0, 1] of positions that the counted blocks did not draft, for example near
      the ends of texts. The rates count these positions as not accepted.
    """

    conditional: tuple[float, ...]
    cut_short: float = 0.0
    kind = "by_position"

    def __post_init__(self) -> None:
        rates = probability("acceptance_by_position", self.conditional)
        if rates.ndim != 1 or len(rates) == 0:
            raise ValueError(
                f"acceptance_by_position must have at least one rate, got shape {rates.shape}"
            )
        object.__setattr__(self, "conditional", tuple(rates.tolist()))

    @property
    def tells_iid(self) -> bool:
        return not self.is_lower_bound

    @property
    def alpha(self) -> float:
        """The maximum-likelihood i.i.d. α: accepted tokens / (accepted tokens + rejections)."""
        rates = np.cumprod(self.conditional)
        return float(rates.sum() / (rates.sum() + 1 - rates[-1]))

    @property
    def observed_gamma(self) -> int | None:
        return len(self.conditional)

    @property
    def is_lower_bound(self) -> bool:
        return self.cut_short > CUT_SHORT

    def per_token(self, price: Price, gamma: ArrayLike) -> Floats:
        lengths = integers("gamma", gamma)
        return np.asarray(price(lengths) / self._tokens(lengths))[()]

    def _tokens(self, lengths: NDArray[np.int64]) -> Floats:
        longest = int(lengths.max(initial=0))
        beyond = [self.conditional[-1]] * max(0, longest - len(self.conditional))
        stands = np.cumprod([1.0, *self.conditional, *beyond])
        return np.asarray(np.cumsum(stands)[lengths])
