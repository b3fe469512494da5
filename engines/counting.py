"""Counters of drafts and acceptances, rates with intervals, and times between tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from operator import add, sub
from typing import Any, Self

from simulator.numerics.intervals import wilson


@dataclass(frozen=True, slots=True)
class RateInterval:
    """A rate in [0, 1] and its interval [low, high]."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def rate_interval(hits: float, trials: float) -> RateInterval:
    """Returns hits / trials with Wilson's interval; without trials, 0 with interval [0, 1].

    The interval assumes that trials are independent, as blocks of a text nearly are.
    """
    return RateInterval(hits / trials if trials > 0 else 0.0, *wilson(hits, trials))


# Share of steps without a draft that requests which end between two readings explain.
FEW = 0.05


@dataclass(frozen=True)
class Counts:
    """Counters of speculation; all are 0 on a server without speculation.

    drafts: number of blocks: one for each step, or only for each step that drafted (`all_steps`).
    drafted, accepted: numbers of drafted and of accepted tokens.
    by_position: number of blocks in which position 1, 2, … was accepted; empty: unknown.
    drafting: number of steps that drafted, if it is known to be less than `drafts`.
    all_steps: whether `drafts` counts all steps. A draft model drafts at every step, a lookup only
      if it finds a match.
    """

    drafts: int = 0
    drafted: int = 0
    accepted: int = 0
    by_position: tuple[int, ...] = ()
    drafting: int | None = None
    all_steps: bool = True

    @classmethod
    def of(cls, drafts: int, drafted: int, by_position: Sequence[int]) -> Counts:
        """Returns counts whose number of accepted tokens is the sum of `by_position`."""
        return Counts(drafts, drafted, sum(by_position), tuple(by_position))

    @property
    def mean_drafted(self) -> float:
        """Mean number of drafted tokens per block; 0 without blocks."""
        return self.drafted / max(self.drafts, 1)

    def up_to(self, gamma: int) -> tuple[int, ...]:
        """Returns `by_position` for positions 1 to γ; 0 for positions that it lacks."""
        return (*self.by_position, *(0,) * gamma)[:gamma]

    def over_all_steps(self, emitted: float, *, slack: float = FEW) -> Self:
        """Returns the counts over all steps, if the server counts only steps that drafted.

        Each step emits the target's own token and the accepted ones, so their number is `emitted`
        minus the accepted tokens.

        emitted: tokens of all requests, without the first token of each.
        slack: share of steps without a draft up to which nothing is corrected.
        """
        steps = round(emitted) - self.accepted
        if steps <= (1 + slack) * self.drafts:
            return replace(self, all_steps=True)
        return replace(self, drafts=steps, drafting=self.drafts, all_steps=True)

    def __add__(self, other: Self) -> Self:
        """Returns the sum, with counts by position if both counters have them."""
        return self._combined(other, add)

    def since(self, earlier: Self) -> Self:
        """Returns the counts after `earlier`; refuses counters that decreased, as in a restart."""
        return self._combined(earlier, sub)

    def _combined(self, other: Self, combine: Callable[[int, int], int]) -> Self:
        listed = all(counts.by_position or counts.accepted == 0 for counts in (self, other))
        positions = zip_longest(self.by_position, other.by_position, fillvalue=0)
        totals = [(c.drafts, c.drafted, c.accepted) for c in (self, other)]
        pairs = [*zip(*totals, strict=True), *(positions if listed else ())]
        drafts, drafted, accepted, *rest = combined = [combine(*pair) for pair in pairs]
        if min(combined) < 0:
            raise restarted(other, self)
        parts = [c.drafts if c.drafting is None else c.drafting for c in (self, other)]
        drafting = combine(parts[0], parts[1])
        return replace(
            self,
            drafts=drafts,
            drafted=drafted,
            accepted=accepted,
            by_position=tuple(rest),
            drafting=drafting if drafting < drafts else None,
            all_steps=self.all_steps and other.all_steps,
        )


NOTHING = Counts()


def restarted(earlier: Counts, later: Counts) -> ValueError:
    """Returns the error for two readings between which the server was restarted."""
    return ValueError(
        "counters must not fall or restart between two readings, got "
        f"{earlier.drafts} drafts, then {later.drafts}: the server was restarted"
    )


@dataclass(frozen=True, slots=True)
class Timed:
    """Times between consecutive tokens of a sequence, summed over all sequences.

    seconds: the sum, above 0.
    tokens: number of summed times: all tokens but the first of each sequence; at least 1.
    batch: largest number of sequences decoded together; None if not reported.
    """

    seconds: float
    tokens: int
    batch: int | None = None

    @property
    def seconds_per_token(self) -> float:
        """Mean seconds between two tokens of one sequence."""
        return self.seconds / self.tokens

    def __add__(self, other: Timed) -> Timed:
        if self.batch != other.batch:
            raise ValueError(f"sources must be of one batch, got {self.batch} and {other.batch}")
        return Timed(self.seconds + other.seconds, self.tokens + other.tokens, self.batch)

    def since(self, earlier: Timed) -> Timed | None:
        """Returns the times after `earlier`; None if no token was timed."""
        return times(self.seconds - earlier.seconds, self.tokens - earlier.tokens, self.batch)


def times(seconds: float, tokens: float, batch: int | None = None) -> Timed | None:
    """Returns a `Timed` of these numbers; None if no token was timed."""
    return Timed(seconds, round(tokens), batch) if seconds > 0 and round(tokens) > 0 else None


def added(first: Any, other: Any) -> Any:
    """Returns first + other; None if one of them is None."""
    return None if first is None or other is None else first + other
