"""What a deployment made of its drafts: counts, their rates with intervals, and whether i.i.d."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from typing import Literal

import numpy as np

from engines.counting.rates import DEVIATIONS, Rate, rate_interval
from simulator.acceptance.acceptance import Acceptance
from simulator.acceptance.by_position import ByPosition
from simulator.acceptance.conversions import (
    alpha_from_accepted_fraction,
    alpha_from_counts,
    position_acceptance,
)
from simulator.acceptance.iid import Iid

Kind = Literal["vllm", "sglang", "llama.cpp"]
Origin = Literal["metrics", "log", "bench", "timings"]
# Rates by position that differ by more than chance once in a hundred times are not i.i.d.
IID_FALSE_ALARM = 0.01


@dataclass(frozen=True, slots=True)
class Observation:
    """Counts of the blocks that drafted, over a while.

    kind, origin: whose, and read from what.
    stated_gamma: drafted tokens per block, as the deployment is set; None: not told.
    drafts, drafted, accepted: blocks, tokens drafted in them, those of them that were accepted.
    by_position: blocks of which positions 1, 2, … were accepted, as far as they are
      listed; empty: not told.
    version, model: of the engine, and what it serves; None: not told.
    began: when the counters began, in seconds since 1970; None: not told.
    """

    kind: Kind
    origin: Origin
    stated_gamma: int | None
    drafts: int
    drafted: int
    accepted: int
    by_position: tuple[int, ...] = ()
    version: str | None = None
    model: str | None = None
    began: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.accepted <= self.drafted:
            raise ValueError(
                f"accepted tokens must be among those drafted, got {self.accepted} of "
                f"{self.drafted}"
            )
        if any(later > before for before, later in pairwise((self.drafts, *self.by_position))):
            raise ValueError(
                "accepted tokens by position must not rise from one to the next, got "
                f"{', '.join(map(str, self.by_position))} of {self.drafts} drafts"
            )

    def since(self, earlier: Observation) -> Observation:
        """Returns what was counted after `earlier`, by the same server.

        Positions are told where both tell them.

        Raises:
          ValueError: if a counter fell or began anew, as they do where a server is restarted.
        """
        self._require_alike(earlier)
        told = self._tells_positions_as(earlier)
        pairs = zip_longest(self.by_position, earlier.by_position, fillvalue=0)
        differences = tuple(now - before for now, before in pairs) if told else ()
        drafts, drafted, accepted = (
            self.drafts - earlier.drafts,
            self.drafted - earlier.drafted,
            self.accepted - earlier.accepted,
        )
        if min(drafts, drafted, accepted, *differences, 0) < 0 or self.began != earlier.began:
            raise ValueError(
                "counters must not fall or begin anew between two readings, got "
                f"{earlier.drafts} drafts, then {self.drafts}: the server was restarted"
            )
        return replace(
            self,
            drafts=drafts,
            drafted=drafted,
            accepted=accepted,
            by_position=differences,
        )

    def __add__(self, other: Observation) -> Observation:
        """Returns the counts of two servers of one kind and γ together; positions if both tell."""
        self._require_alike(other)
        told = self._tells_positions_as(other)
        pairs = zip_longest(self.by_position, other.by_position, fillvalue=0)
        return replace(
            self,
            drafts=self.drafts + other.drafts,
            drafted=self.drafted + other.drafted,
            accepted=self.accepted + other.accepted,
            by_position=tuple(a + b for a, b in pairs) if told else (),
            model=self.model if self.model == other.model else None,
            version=self.version if self.version == other.version else None,
            began=None,
        )

    def _tells_positions_as(self, other: Observation) -> bool:
        """Returns whether both say at which positions their tokens were accepted."""
        return all(each.by_position or each.accepted == 0 for each in (self, other))

    def _require_alike(self, other: Observation) -> None:
        if self.kind != other.kind:
            raise ValueError(f"sources must be of one engine, got {self.kind} and {other.kind}")
        if self.stated_gamma != other.stated_gamma:
            raise ValueError(
                f"sources must be of one gamma, got {self.stated_gamma} and {other.stated_gamma}"
            )

    @property
    def gamma(self) -> int:
        """Drafted tokens per block; where nothing tells it, the least that explains the counts."""
        if self.stated_gamma is not None:
            return self.stated_gamma
        listed = sum(hits > 0 for hits in self.by_position)
        return max(1, listed, -(-self.drafted // max(1, self.drafts)))

    @property
    def hits(self) -> tuple[int, ...]:
        """Blocks of which positions 1 to γ were accepted; empty where positions are not counted."""
        if not self.by_position and self.accepted > 0:
            return ()
        return _padded(self.by_position, self.gamma)[: self.gamma]

    @property
    def block_efficiency(self) -> float:
        """Tokens per target call: what stood, and one more."""
        return 1 + self.accepted / self.drafts

    @property
    def accepted_fraction(self) -> float:
        """Accepted over drafted tokens."""
        return self.accepted / self.drafted

    @property
    def unconditional(self) -> tuple[Rate, ...]:
        """How often each position stood, counting all blocks."""
        return tuple(rate_interval(hits, self.drafts) for hits in self.hits)

    @property
    def conditional(self) -> tuple[Rate | None, ...]:
        """How often each position stood once those before it did; None where they never did."""
        return tuple(
            rate_interval(hits, trials) if trials > 0 else None
            for trials, hits in pairwise((self.drafts, *self.hits))
        )

    @property
    def alpha_iid(self) -> Rate:
        """The α that i.i.d. acceptances would have, with its interval.

        By position known, of largest likelihood: accepted / (accepted + rejected blocks), a
        binomial rate. Else from accepted over drafted tokens at γ.
        """
        if self.hits:
            rejected = self.drafts - self.hits[-1]
            accepted = sum(self.hits)
            value = float(alpha_from_counts(accepted, rejected))
            interval = rate_interval(accepted, accepted + rejected)
            return Rate(value, interval.low, interval.high)
        gamma = self.gamma
        value = float(alpha_from_accepted_fraction(self.accepted_fraction, gamma))
        # The spread of accepted tokens of a block, 1 to γ standing with α, …, α^γ.
        stands = position_acceptance(value, gamma)
        mean = float(stands.sum())
        square = float(((2 * np.arange(1, gamma + 1) - 1) * stands).sum())
        reach = DEVIATIONS * np.sqrt(max(square - mean**2, 0) / self.drafts) / gamma
        low, high = (
            float(alpha_from_accepted_fraction(min(1.0, max(0.0, fraction)), gamma))
            for fraction in (self.accepted_fraction - reach, self.accepted_fraction + reach)
        )
        return Rate(value, low, high)

    @property
    def iid_p_value(self) -> float | None:
        """How likely i.i.d. acceptances would make positions differ so much; None: not known.

        By the likelihood ratio of one conditional rate for all positions against one for each,
        which is χ² of large counts.
        """
        from scipy.special import chdtrc, xlogy

        pairs = [
            (hits, trials)
            for trials, hits in pairwise((self.drafts, *self.hits))
            if trials > 0
        ]
        if len(pairs) < 2:
            return None
        hits, trials = np.array(pairs, dtype=np.float64).T

        def likelihood(wins: np.ndarray, of: np.ndarray) -> np.ndarray:
            return np.asarray(xlogy(wins, wins / of) + xlogy(of - wins, 1 - wins / of))

        pooled = likelihood(hits.sum(), trials.sum())
        ratio = 2 * float(likelihood(hits, trials).sum() - pooled)
        return float(chdtrc(len(pairs) - 1, max(0.0, ratio)))

    @property
    def iid_consistent(self) -> bool | None:
        """Whether positions differ no more than by chance; None: not known."""
        p_value = self.iid_p_value
        return None if p_value is None else p_value >= IID_FALSE_ALARM

    @property
    def acceptance(self) -> Acceptance:
        """To plan with: rates by position where they are counted, else i.i.d."""
        if self.hits:
            return ByPosition.of_unconditional([rate.value for rate in self.unconditional])
        return Iid(self.alpha_iid.value)

    @property
    def cut_short(self) -> float:
        """The share of drafted positions that blocks left out, as where a text ends."""
        return 1 - self.drafted / (self.gamma * self.drafts)


def _padded(counts: tuple[int, ...], length: int) -> tuple[int, ...]:
    return counts + (0,) * (length - len(counts))
