"""Counts of a server's drafts, their rates with intervals, and whether they are i.i.d."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

from engines.counting import Counts, RateInterval, Timed, added, rate_interval, restarted
from engines.observing.alphas import RequestCounts, alpha_of_positions, alpha_of_totals, iid_p_value
from simulator.acceptance.acceptance import CUT_SHORT
from simulator.acceptance.accepted import Accepted
from simulator.acceptance.counted import CountedAcceptance

Origin = Literal["metrics", "log", "bench", "timings", "answers"]
# Rates by position that differ by more than chance once in a hundred times are not i.i.d.
IID_FALSE_ALARM = 0.01
# Rounding of a printed rate.
_PRINTED = 0.005


@dataclass(frozen=True, kw_only=True)
class Observation(Counts):
    """Counts of a server over some time. A field is None if the source does not report it.

    stated_gamma: drafted tokens per block, as the server or the user states them.
    version: the engine's version; model: name of the served model.
    began: time at which the counters began, in seconds since 1970.
    draft_seconds: total time of drafting, in seconds.
    calls_error: standard error of log(drafts) if `drafts` is estimated; 0 if it was counted.
    notes: sentences to print about the source.
    former_flags: whether the server's version uses older names of flags (`Exports.former`).
    rejected: number of blocks with a rejected token; None if some may have been cut short instead.
    draft_share: size of the draft over size of the target, both read from the models' names.
    requests: counts by request; empty if not known.
    """

    kind: str
    origin: Origin
    stated_gamma: int | None = None
    version: str | None = None
    model: str | None = None
    began: float | None = None
    timed: Timed | None = None
    draft_seconds: float | None = None
    calls_error: float = 0.0
    notes: tuple[str, ...] = ()
    former_flags: bool = False
    rejected: int | None = None
    draft_share: float | None = None
    requests: tuple[RequestCounts, ...] = ()

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
        # Rounded, since passes inferred from a text's length may be one too few.
        accepted_up_to = sum(hits > 0 for hits in self.by_position)
        least = max(accepted_up_to, round(self.drafted / max(1, self.drafts)))
        if self.stated_gamma is not None and self.drafts > 0 and self.stated_gamma < least:
            raise ValueError(
                f"gamma must be at least the {least} tokens that blocks drafted, got "
                f"{self.stated_gamma}"
            )

    def since(self, earlier: Observation) -> Observation:
        self._require_alike(earlier)
        if self.began != earlier.began:
            raise restarted(earlier, self)
        now, before = self.timed, earlier.timed
        timed = None if now is None or before is None else now.since(before)
        return replace(super().since(earlier), timed=timed)

    def __add__(self, other: Observation) -> Observation:
        self._require_alike(other)
        listed = all(seen.requests or seen.drafted == 0 for seen in (self, other))
        return replace(
            super().__add__(other),
            model=_common(self.model, other.model),
            draft_share=_common(self.draft_share, other.draft_share),
            version=_common(self.version, other.version),
            began=None,
            timed=added(self.timed, other.timed),
            draft_seconds=added(self.draft_seconds, other.draft_seconds),
            calls_error=max(self.calls_error, other.calls_error),
            notes=tuple(dict.fromkeys((*self.notes, *other.notes))),
            former_flags=self.former_flags or other.former_flags,
            rejected=added(self.rejected, other.rejected),
            requests=self.requests + other.requests if listed else (),
        )

    def of_one_request(self, prompt_tokens: float | None = None) -> Observation:
        """Returns this observation with one item in `requests`, which has all counts."""
        if self.drafts == 0 or self.drafted == 0:
            return self
        trials = self.accepted / self.alpha_iid.value if self.accepted > 0 else self.drafts
        counts = (self.drafts, self.drafted, self.accepted, trials)
        half = (self.drafts + self.accepted) / 2
        context = None if not prompt_tokens else round(prompt_tokens + half)
        return replace(self, requests=(RequestCounts(*counts, context=context),))

    def _require_alike(self, other: Observation) -> None:
        if self.kind != other.kind:
            raise ValueError(f"sources must be of one engine, got {self.kind} and {other.kind}")
        if self.stated_gamma != other.stated_gamma:
            raise ValueError(
                f"sources must be of one gamma, got {self.stated_gamma} and {other.stated_gamma}"
            )

    @property
    def gamma(self) -> int:
        """Drafted tokens per block; if not stated, the smallest number that explains the counts."""
        if self.stated_gamma is not None:
            return self.stated_gamma
        listed = sum(hits > 0 for hits in self.by_position)
        return max(1, listed, -(-self.drafted // max(1, self.drafts)))

    @property
    def hits(self) -> tuple[int, ...]:
        """Number of blocks that accepted positions 1 to γ; empty if positions were not counted."""
        if not self.by_position and self.accepted > 0:
            return ()
        return self.up_to(self.gamma)

    @property
    def block_efficiency(self) -> float:
        """Mean number of tokens per target call: the accepted tokens and the target's own token."""
        return 1 + self.accepted / self.drafts

    @property
    def accepted_fraction(self) -> float:
        return self.accepted / self.drafted

    @property
    def unconditional(self) -> tuple[RateInterval, ...]:
        """For each position, the share of all blocks that accept it, with its interval."""
        return tuple(rate_interval(hits, self.drafts) for hits in self.hits)

    @property
    def conditional(self) -> tuple[RateInterval | None, ...]:
        """For each position, the accepted share of the blocks that reach it; None if none do."""
        return tuple(
            rate_interval(hits, trials) if trials > 0 else None
            for trials, hits in pairwise((self.drafts, *self.hits))
        )

    @property
    def alpha_iid(self) -> RateInterval:
        """The α that explains the counts if acceptances are i.i.d., with its interval."""
        if self.rejected is not None:
            return rate_interval(self.accepted, self.accepted + self.rejected)
        if self.hits:
            left_out = max(0, self.gamma * self.drafts - self.drafted)
            return alpha_of_positions(self.hits, drafts=self.drafts, left_out=left_out)
        return alpha_of_totals(
            self.accepted, drafted=self.drafted, drafts=self.drafts, gamma=self.gamma
        )

    @property
    def iid_p_value(self) -> float | None:
        """p-value of equal acceptance at all positions; None if too many blocks were cut short."""
        return None if self.is_lower_bound else iid_p_value(self.hits, drafts=self.drafts)

    @property
    def iid_consistent(self) -> bool | None:
        """Whether acceptance by position differs only by chance; None without a p-value."""
        return None if self.iid_p_value is None else self.iid_p_value >= IID_FALSE_ALARM

    @property
    def counted(self) -> Accepted:
        """The counts in the form from which acceptance is estimated."""
        if self.hits:
            rates = [hits / self.drafts for hits in self.hits]
            return Accepted.of_rates(rates, drafts=self.drafts, drafted=self.drafted)
        error, drafted = self.calls_error, self.drafted
        return Accepted.of_calls(self.accepted, self.drafts, self.gamma, error, drafted)

    @property
    def drafted_per_block(self) -> float:
        """Mean number of drafted tokens per block."""
        return self.drafted / self.drafts

    def acceptance(
        self, draft_class: str | None = None, others: Sequence[Accepted] = ()
    ) -> CountedAcceptance:
        """Returns the acceptance for a plan, estimated from these counts and `others`.

        draft_class: class of the draft, which selects the prior (`rate_prior`); None: not known.
        others: further counts of the draft. If some of them have this γ, they replace these counts
          where the number of target calls is only estimated.
        """
        first = (
            [] if self.calls_error and self.gamma in [e.gamma for e in others] else [self.counted]
        )
        return CountedAcceptance(
            [*first, *others], draft_class=draft_class, cut_short=self.cut_short
        )

    @property
    def contradictions(self) -> tuple[str, ...]:
        """Warnings about counts that contradict each other."""
        stood = sum(self.by_position)
        # Rates are printed with two digits at the least.
        printed = self.gamma * (1 + _PRINTED * self.drafts)
        if not self.by_position or abs(stood - self.accepted) <= printed:
            return ()
        return (
            f"{self.accepted} tokens were accepted, and {stood} by position: the rates by position "
            "are used",
        )

    @property
    def cut_short(self) -> float:
        """Share of the γ positions per block that were not drafted, e.g. at the end of a text."""
        return max(0.0, 1 - self.drafted / (self.gamma * self.drafts))

    @property
    def is_lower_bound(self) -> bool:
        """Whether so many blocks were cut short that `alpha_iid` is only a lower bound."""
        return self.rejected is None and self.cut_short > CUT_SHORT


def _common(first: Any, other: Any) -> Any:
    return first if first == other else None
