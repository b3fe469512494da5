"""Targets that must read accepted tokens again after a rejection (`docs/hybrids.md`)."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from simulator.cost.cost import ChangedCost, Cost
from simulator.cost.fitted.fit import infer
from simulator.cost.fitted.machine import Drafting, LoadPoint, Machine, Work
from simulator.cost.fitted.posterior import ParametricCost
from simulator.cost.pricing import Pricing
from simulator.numerics.arguments import Floats

# Maps γ to the probability of a rejection after 0, …, γ - 1 accepted tokens, shape (γ,).
Rejected = Callable[[int], Floats]


def read_again(cost: Cost, rejected: Rejected) -> ChangedCost:
    """Returns the cost if the target reads a block's accepted tokens again after a rejection.

        t(γ) = t_0(γ) + Σ_{a<γ} P(rejected after a accepted tokens) · t_p(a + 1)

    cost: block times t_0 without reading again, and pass times t_p.
    rejected: probability that a block is rejected after each number of accepted tokens.
    """

    def again(length: int) -> float:
        # All blocks contain the time outside their pass, so that differences cancel it.
        outside = cost.checking_seconds(0) - cost.step_seconds
        return float(rejected(length) @ (cost.checking_seconds(np.arange(length)) - outside))

    return ChangedCost(cost, again=again)


@dataclass(frozen=True, slots=True)
class ReadingAgain(Machine):
    """A machine whose target reads accepted tokens again after a rejection, as in `read_again`."""

    inner: Machine
    rejected: Rejected

    def plain_work(self, load: LoadPoint) -> Work:
        return self.inner.plain_work(load)

    def drafting_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        return self.inner.drafting_work(load, drafting)

    def checking_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        # A block that verifies only its first token has drafted nothing that could be rejected.
        chances = self.rejected(min(drafting.gamma, drafting.new_tokens - 1))
        # Passes over 1, 2, … tokens of every sequence, without the time outside them.
        least = self.inner.checking_work(load, Drafting(1, verified=1))
        step = self.inner.plain_work(load) - least
        again = sum(
            chance * (self.inner.checking_work(load, Drafting(1, verified=tokens)) + step)
            for tokens, chance in enumerate(chances.tolist(), start=1)
        )
        return np.asarray(self.inner.checking_work(load, drafting) + again)

    def prompt_work(self, load: LoadPoint) -> Work:
        return self.inner.prompt_work(load)


def reading_again(price: Pricing, rejected: Rejected) -> Pricing:
    """Returns the pricing if the target reads accepted tokens again after each rejection."""
    cost = price.cost
    if not isinstance(cost, ParametricCost):
        return replace(price, cost=read_again(cost, rejected))
    known = cost.posterior
    posterior = infer(ReadingAgain(known.machine, rejected), known.prior, known.runs)
    return replace(price, cost=ParametricCost(posterior, cost.load))
