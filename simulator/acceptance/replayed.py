"""Acceptance from replayed texts: mean numbers of blocks, over whole texts or at each context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from simulator.acceptance.acceptance import STATED, Acceptance, Price, Source
from simulator.acceptance.tokens import expected_tokens
from simulator.numerics.arguments import Floats, integer, integers, non_negative, probability
from simulator.numerics.elementwise import by_gamma

# A text with all drafts rejected has 1 block per token; rounding may add this share.
_ROUNDING = 1e-9
# Half the difference of logits in numerical derivatives.
_STEP = 1e-3
# A context this many times as long as all measured ones, or as short, was not measured.
_FAR = 1.5


@dataclass(frozen=True, slots=True)
class Replayed(Acceptance):
    """Acceptance found by replaying recorded texts, for each γ up to the largest replayed one.

    alpha: the mean of β over the texts' positions, in [0, 1].
    blocks: for each γ = 1, 2, …, the expected numbers of blocks that draft 0, …, γ tokens, divided
      by the tokens of the texts (`Replay.blocks` summed over texts), shape (γ + 1,).
    error: standard deviation of the logit of α due to the choice of prompts; all rates share it.
    by_context: pairs of a number of cached tokens and the acceptance there, ascending; empty: the
      acceptance is assumed equal at all contexts.
    """

    alpha: float = field()
    blocks: Mapping[int, tuple[float, ...]]
    error: float = 0.0
    by_context: tuple[tuple[int, Replayed], ...] = ()
    source: Source = field(default=STATED, compare=False, repr=False)
    kind = "replay"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", float(probability("alpha", self.alpha)))
        counts = {integer("gamma", gamma, at_least=1): row for gamma, row in self.blocks.items()}
        if sorted(counts) != list(range(1, len(counts) + 1)) or not counts:
            raise ValueError(f"blocks must have every gamma from 1 on, got {sorted(counts)}")
        for gamma, row in counts.items():
            values = non_negative(f"blocks[{gamma}]", row)
            if values.shape != (gamma + 1,) or not 0 < values.sum() <= 1 + _ROUNDING:
                raise ValueError(
                    f"blocks[{gamma}] must have {gamma + 1} numbers whose sum lies in (0, 1], "
                    f"got {len(row)} of sum {values.sum():g}"
                )
        object.__setattr__(self, "blocks", dict(sorted(counts.items())))

    @property
    def tells_iid(self) -> bool:
        return not self.is_lower_bound

    @property
    def observed_gamma(self) -> int:
        return len(self.blocks)

    def at_context(self, context: int) -> Replayed:
        """Returns the acceptance at `context` cached tokens, as measured or between two measured.

        All rows and α are linear in the logarithm of the context. Outside of the measured contexts
        the nearest one applies; far outside a note says so.
        """
        if not self.by_context:
            return self
        places = np.array([place for place, _ in self.by_context], dtype=np.float64)
        wanted = max(integer("context", context), 1)
        at = float(np.interp(np.log(wanted), np.log(places), np.arange(len(places))))
        weight, (_, low), (_, high) = (
            at % 1.0, self.by_context[int(at)], self.by_context[min(int(at) + 1, len(places) - 1)]
        )  # fmt: skip

        def between(one: ArrayLike, other: ArrayLike) -> Floats:
            return (1 - weight) * np.asarray(one) + weight * np.asarray(other)

        notes = self.source.notes
        if not places[0] / _FAR <= wanted <= places[-1] * _FAR:
            notes += (
                f"Acceptance was measured at contexts around {places[0]:.0f} to {places[-1]:.0f} "
                "tokens; other contexts have the acceptance of the nearest.",
            )
        return Replayed(
            float(between(low.alpha, high.alpha)),
            {
                gamma: tuple(between(row, high.blocks[gamma]).tolist())
                for gamma, row in low.blocks.items()
            },
            float(between(low.error, high.error)),
            source=replace(self.source, notes=notes),
        )

    def log_lengths(self, gamma: ArrayLike) -> tuple[Floats, Floats]:
        gammas = np.atleast_1d(integers("gamma", gamma, at_least=1))
        logit = np.log(self.alpha / (1 - self.alpha)) if self.error > 0 else 0.0
        # Lengths are assumed to change with the logit of α as i.i.d. lengths do.
        more, less = (
            np.log(expected_tokens(1 / (1 + np.exp(-logit - step)), gammas))
            for step in (_STEP, -_STEP)
        )
        slopes = self.error * (more - less) / (2 * _STEP)
        return np.log(self.tokens_per_call(gammas)), np.outer(slopes, slopes)

    def per_token(self, price: Price, gamma: ArrayLike) -> Floats:
        """Returns the expected price of blocks, per emitted token.

        A γ above the largest replayed one, G, is extrapolated. Blocks that drafted fewer than G
        tokens do not change; the others draft more tokens, which are accepted at the last rates.
        """
        prices = price(np.arange(np.max(gamma, initial=0) + 1))

        def total(length: int) -> float:
            row = {0: (1.0,), **self.blocks}.get(length)
            blocks = self._beyond(length) if row is None else np.array(row)
            return float(blocks @ prices[: len(blocks)])

        return by_gamma(gamma, total)

    def _beyond(self, gamma: int) -> Floats:
        """Returns the expected number of blocks that draft 0, …, γ tokens, per emitted token.

        γ is above G, the largest replayed γ. R_j is the share of blocks that draft position j, and
        S_j the share of these in which positions 1 to j are accepted. Both are extrapolated:

            E[τ(γ)] = 1 + Σ_{j≤γ} R_j S_j,   R_j = R_{j-1} h,   S_j = S_{j-1} a     (j > G)

        h = R_G / R_{G-1}, and a is the geometric mean acceptance rate of the positions above G/2.
        The number for j drafted tokens is (R_j - R_{j+1}) / E[τ(γ)], where R_{γ+1} = 0.
        """
        last = len(self.blocks)
        tokens = np.array([1.0, *(1 / sum(row) for row in self.blocks.values())])
        shares = np.array(self.blocks[last]) * tokens[-1]
        room = np.cumsum(shares[::-1])[::-1]
        gains = np.diff(tokens, prepend=0.0)
        stands = np.divide(gains, room, out=np.zeros(last + 1), where=room > 0)
        half = last // 2
        kept = max(stands[-1], 0.0) / stands[half] if stands[half] > 0 else 0.0
        rate = min(kept ** (1 / (last - half)), 1.0)
        steps = np.arange(1, gamma - last + 1)
        further = room[-1] * (room[-1] / room[-2] if room[-2] > 0 else 0.0) ** steps
        longer = tokens[-1] + further @ (stands[-1] * rate**steps)
        reached = np.concatenate([room, further, [0.0]])
        return np.asarray((reached[:-1] - reached[1:]) / longer)
