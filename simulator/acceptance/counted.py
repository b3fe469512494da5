"""Acceptance as servers count it, in each form that they print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np

from simulator.acceptance.acceptance import STATED, Acceptance, Source
from simulator.acceptance.accepted import Accepted
from simulator.acceptance.from_counts import FromCounts, from_counts

if TYPE_CHECKING:
    from simulator.cost.fitted.runs import Run


class CountedAcceptance(FromCounts):
    """Acceptance estimated from counts at one or several draft lengths (`from_counts`).

    counts: counts of one draft; if empty, the prior of its kind gives the rates.
    draft_class, cut_short, elsewhere: arguments of `from_counts`.
    source: where the counts come from.
    """

    _elsewhere: float
    _source: Source

    def __init__(
        self,
        counts: Sequence[Accepted],
        *,
        draft_class: str | None = None,
        cut_short: float = 0.0,
        elsewhere: float = 0.0,
        source: Source = STATED,
    ) -> None:
        fitted = from_counts(
            counts, draft_class=draft_class, cut_short=cut_short, elsewhere=elsewhere
        )
        numbers = {part.name: getattr(fitted, part.name) for part in fields(fitted)}
        notes = (*fitted.contradictions, *source.notes)
        numbers["source"] = replace(source, counted=True, notes=notes)
        given = {"_elsewhere": elsewhere, "_source": source}
        for name, value in (numbers | given).items():
            object.__setattr__(self, name, value)

    def for_draft(self, draft_class: str | None) -> CountedAcceptance:
        return CountedAcceptance(
            self.counted,
            draft_class=draft_class,
            cut_short=self.cut_short,
            elsewhere=self._elsewhere,
            source=self._source,
        )


class ByPosition(CountedAcceptance):
    """Acceptance rates of positions 1, 2, ..., as servers print them.

    rates: for each position, the share of all drafts whose tokens up to it are accepted; must not
      rise with the position.
    conditional: whether rates are shares of the drafts whose earlier tokens are all accepted.
    """

    def __init__(self, rates: Sequence[float], *, conditional: bool = False) -> None:
        try:
            counted = Accepted.of_rates(np.cumprod(rates) if conditional else rates)
        except ValueError as error:
            raise ValueError(
                f"{error}; rates that count only the drafts whose earlier positions were accepted "
                "go with `conditional`"
            ) from None
        super().__init__([counted])


class AcceptedFraction(CountedAcceptance):
    """Acceptance inferred from accepted over drafted tokens at one γ.

    fraction: accepted over drafted tokens, in [0, 1]; servers call it acceptance rate.
    gamma: drafted tokens per block at which the fraction was counted, at least 1.
    drafted: number of drafted tokens that were counted; None: unknown.
    """

    def __init__(self, fraction: float, gamma: int, *, drafted: float | None = None) -> None:
        counted = Accepted.of_fraction(fraction, gamma, drafted)
        note = (
            f"Every draft is taken to have {gamma} tokens. If some end early, as below a p-min of "
            "llama.cpp, acceptance is lower: state the block efficiency."
        )
        if counted.error > 0 and drafted is not None and counted.drafts is not None:
            note = (
                f"{drafted:.0f} is no multiple of {gamma}: some drafts ended early. They are taken "
                f"to be {counted.drafts:.0f}, a guess between {math.ceil(drafted / gamma)} and "
                f"{drafted:.0f}: state the block efficiency."
            )
        super().__init__([counted], source=Source(notes=(note,)))


class BlockEfficiency(CountedAcceptance):
    """Acceptance inferred from tokens per target call (mean acceptance length) at one γ.

    tokens_per_call: tokens per target call, in [1, γ + 1].
    gamma: drafted tokens per block at which they were counted, at least 1.
    """

    def __init__(self, tokens_per_call: float, gamma: int) -> None:
        if not 1 <= tokens_per_call <= gamma + 1:
            raise ValueError(
                f"block_efficiency must lie in [1, gamma + 1 = {gamma + 1}], "
                f"got {tokens_per_call:g}"
            )
        super().__init__([Accepted(gamma, tokens_per_call)])


def counts_run(acceptance: Acceptance, run: Run) -> bool:
    """Returns whether a run's accepted tokens are among the counts behind an acceptance."""
    return isinstance(acceptance, FromCounts) and any(
        run.gamma == counted.gamma and math.isclose(run.length, counted.length, rel_tol=1e-6)
        for counted in acceptance.counted
    )
