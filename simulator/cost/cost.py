"""Cost: the time of a block. A plan is made from an acceptance and a cost."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Cost(ABC):
    """Times of drafting and verifying a block, and of a baseline token (without speculation).

    A time is a second, or, where `in_seconds` is false, a step of the target.

    Example: a target step of 10 ms that verifies any number of tokens, a draft step of 1 ms.

      >>> class Flat(Cost):
      ...     step_seconds = baseline_seconds = 0.010
      ...     c = 0.1
      ...     def drafting_seconds(self, gamma): return 0.001 * np.asarray(gamma)
      ...     def checking_seconds(self, gamma): return np.full(np.shape(gamma), 0.010)
      >>> Flat().block_seconds(4)
      0.014
    """

    @property
    def in_seconds(self) -> bool:
        """Whether times are seconds; if not, the target's step is their unit."""
        return True

    @property
    def observed_gamma(self) -> int | None:
        """The largest γ that a price was measured at; None where the form itself says them all."""
        return None

    @property
    def by_steps(self) -> bool:
        """Whether each further token of a draft costs one more draft step, so that c says it."""
        return True

    @property
    @abstractmethod
    def step_seconds(self) -> float:
        """Time of a target pass over one token, t_p(1)."""

    @property
    @abstractmethod
    def baseline_seconds(self) -> float:
        """Time per baseline token: the target without speculation, its bookkeeping included."""

    @property
    @abstractmethod
    def c(self) -> float:
        """Time of one draft step over time of one target step (Leviathan et al. 2023, Def. 7)."""

    @property
    def verification_free(self) -> bool:
        """Whether a target pass over any number of tokens takes what one over one token does."""
        return False

    @property
    def theorem8(self) -> bool:
        """Whether verification and all else are free: what Theorem 8 and Corollary 9 take."""
        return False

    @abstractmethod
    def drafting_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        """Returns the time of drafting γ tokens; gamma at least 0, shape (...)."""

    @abstractmethod
    def checking_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        """Returns the time of all else in a block of γ tokens: verification and overhead."""

    def block_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        """Returns the time of one block.

        Args:
          gamma: drafted tokens, at least 0, shape (...). A block that drafts none still pays the
            overhead; decoding without speculation costs baseline_seconds instead.
        """
        return np.asarray(self.drafting_seconds(gamma) + self.checking_seconds(gamma))[()]

    @property
    def baseline_tokens_per_second(self) -> float:
        """Tokens per second of the baseline (the target without speculation)."""
        return 1 / self.baseline_seconds
