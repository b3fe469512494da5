"""Acceptance from replayed texts (`replay.py`), as an input of plans."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.acceptance import Acceptance, Kind, Price
from simulator.acceptance.tokens import expected_tokens
from simulator.numerics.arguments import integer, integers, non_negative, probability

# A text whose drafts are all rejected has 1 block for each token; rounding may add this share.
_ROUNDING = 1e-9
# Half the difference of logits that derivatives are taken over.
_STEP = 1e-3


@dataclass(frozen=True, slots=True)
class Recorded(Acceptance):
    """Acceptance found by replaying recorded texts, for each γ up to the largest replayed one.

    rate: α, the mean of β over the texts' positions, in [0, 1].
    blocks: maps γ = 1, 2, … to the expected number of blocks that draft 0, …, γ tokens, per token
      of the texts (`replay.Replay.blocks` summed over texts), shape (γ + 1,).
    error: standard deviation of the logit of α between sets of prompts; all rates share it.
    """

    rate: float
    blocks: Mapping[int, tuple[float, ...]]
    error: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", float(probability("alpha", self.rate)))
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
    def kind(self) -> Kind:
        return "replay"

    @property
    def tells_iid(self) -> bool:
        return not self.is_lower_bound

    @property
    def alpha(self) -> float:
        return self.rate

    @property
    def observed_gamma(self) -> int | None:
        return len(self.blocks)

    @property
    def logit_covariance(self) -> NDArray[np.float64]:
        return np.diag([self.error**2, 0.0])

    def log_lengths(self, gamma: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        gammas = np.atleast_1d(integers("gamma", gamma, at_least=1))
        logit = np.log(self.rate / (1 - self.rate)) if self.error > 0 else 0.0
        # As lengths of i.i.d. acceptances change with the logit of their α.
        more, less = (
            np.log(expected_tokens(1 / (1 + np.exp(-logit - step)), gammas))
            for step in (_STEP, -_STEP)
        )
        slopes = self.error * (more - less) / (2 * _STEP)
        return np.log(self.tokens_per_call(gammas)), np.outer(slopes, slopes)

    def per_token(self, price: Price, gamma: ArrayLike) -> NDArray[np.float64]:
        """Returns the expected price of blocks per token, extrapolated above the last replayed γ.

        There, blocks that drafted fewer tokens than the largest replayed γ stay as they are. The
        other blocks grow and are accepted at the last observed rates.
        """
        lengths = integers("gamma", gamma)
        total = np.empty(lengths.shape)
        for index, value in np.ndenumerate(lengths):
            if value == 0:
                row = np.ones(1)
            elif value in self.blocks:
                row = np.array(self.blocks[int(value)])
            else:
                row = self._beyond(int(value))
            total[index] = row @ price(np.arange(len(row)))
        return total[()]

    def _beyond(self, gamma: int) -> NDArray[np.float64]:
        """Returns the expected number of blocks that draft 0, …, γ tokens, per token, where γ > G.

        R_j is the share of blocks that draft position j, S_j the share that drafts and accepts it:

            E[τ(γ)] = 1 + Σ_{j≤γ} R_j S_j,   R_j = R_{j-1} h,   S_j = S_{j-1} a     (j > G)

        G is the largest replayed γ, h = R_G / R_{G-1}, and a the mean rate over positions G/2 to G.
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
