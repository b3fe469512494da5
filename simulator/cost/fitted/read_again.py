"""Targets that must read accepted tokens again after a rejection (`docs/hybrids.md`)."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.cost.cost import WrappedCost
from simulator.cost.fitted.fit import infer
from simulator.cost.fitted.machine import Drafting, LoadPoint, Machine, Work
from simulator.cost.fitted.posterior import ParametricCost
from simulator.cost.pricing import Pricing
from simulator.numerics.arguments import integers

# From γ to the chance that a block ends with a rejection behind 0, …, γ - 1 accepted tokens,
# shape (γ,).
Rejected = Callable[[int], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class ReadAgain(WrappedCost):
    """The cost of a target whose recurrent layers are reset to the block's start if it is rejected.

        t(γ) = t_0(γ) + Σ_{a<γ} P(rejected after a accepted tokens) · t_p(a + 1)

    inner: block times t_0 without reading again, and pass times t_p.
    rejected: probability that a block is rejected after each number of accepted tokens.
    """

    rejected: Rejected

    def checking_seconds(self, gamma: ArrayLike) -> NDArray[np.float64]:
        lengths = integers("gamma", gamma)
        again = np.zeros(lengths.shape)
        for length in np.unique(lengths[lengths > 0]).tolist():
            # All blocks contain the time outside their pass, so that differences cancel it.
            passes = self.inner.checking_seconds(np.arange(length)) + (
                self.inner.step_seconds - self.inner.checking_seconds(0)
            )
            again[lengths == length] = self.rejected(length) @ passes
        return np.asarray(self.inner.checking_seconds(lengths) + again)[()]


@dataclass(frozen=True, slots=True)
class ReadingAgain(Machine):
    """A machine with uncertain parameters that reads accepted tokens again, in its runs, too.

    inner: the machine without reading again.
    rejected: probability that a block is rejected after each number of accepted tokens.
    """

    inner: Machine
    rejected: Rejected

    def plain_work(self, load: LoadPoint) -> Work:
        return self.inner.plain_work(load)

    def drafting_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        return self.inner.drafting_work(load, drafting)

    def checking_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        found = self.inner.checking_work(load, drafting)
        # A block that verifies only its first token has drafted nothing that could be rejected.
        chances = self.rejected(min(drafting.gamma, drafting.new_tokens - 1))
        for accepted, chance in enumerate(chances):
            found = found.plus(self._pass(load, accepted + 1), float(chance))
        return found

    def prompt_work(self, load: LoadPoint) -> Work:
        return self.inner.prompt_work(load)

    def _pass(self, load: LoadPoint, tokens: int) -> Work:
        """Returns the work of a pass over `tokens` tokens of every sequence, without overhead."""
        block = self.inner.checking_work(load, Drafting(1, verified=tokens))
        least = self.inner.checking_work(load, Drafting(1, verified=1))
        return block.plus(least, -1).plus(self.inner.plain_work(load), 1)


def reading_again(price: Pricing, rejected: Rejected) -> Pricing:
    """Returns the pricing of a target that reads a rejected block's accepted tokens again."""
    if price.posterior is None or price.point is None:
        return replace(price, cost=ReadAgain(price.cost, rejected))
    known = price.posterior
    posterior = infer(ReadingAgain(known.machine, rejected), known.prior, known.runs)
    cost = ParametricCost.of(posterior, price.point)
    return replace(price, cost=cost, posterior=posterior)
