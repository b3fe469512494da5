"""Costs and acceptance from measurements of a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from simulator.cost.cost import Cost
from simulator.cost.costs import Costs
from simulator.cost.fitted.runs import Run, require_consistent
from specplan.api.deployed import Loads

if TYPE_CHECKING:
    from simulator.acceptance.acceptance import Acceptance
    from simulator.acceptance.accepted import Accepted
    from simulator.acceptance.counted import CountedAcceptance


@dataclass(frozen=True)
class Runs(Loads, Costs):
    """Measurements of one server: the cost of its blocks, and its acceptance.

    runs: runs with and without speculation; at one load, longer drafts must not make faster steps.
    batch: the batch to plan for, or a list; None: each batch that was run with and without drafts.
    """

    runs: tuple[Run, ...] = field(kw_only=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "runs", tuple(self.runs))
        if not self.runs:
            raise ValueError("`runs` must have at least one run, got none")
        if self.context is not None:
            raise ValueError("`context` needs `target_config`: runs have their own context")
        require_consistent([run for run in self.runs if run.counted])

    @property
    def fitted(self) -> bool:
        return True

    def planned(self, max_gamma: int) -> tuple[Cost, ...]:
        from simulator.cost.fitted.by_batch import costs_by_batch

        require_consistent(self.runs)
        return costs_by_batch(self.runs, self.batches)

    def at(self, batch: int, context: int | None = None, *, max_gamma: int = 32) -> Cost:
        from simulator.cost.fitted.by_batch import costs_by_batch

        return costs_by_batch(self.runs, [batch])[0]

    def with_runs(self, runs: Sequence[Run]) -> Runs:
        return replace(self, runs=tuple(runs))

    def with_batches(self, batches: Sequence[int]) -> Runs:
        return replace(self, batch=tuple(batches))

    @property
    def acceptance(self) -> CountedAcceptance:
        """The acceptance from the runs' accepted lengths."""
        return acceptance_of_runs(self.runs)


def acceptance_of_runs(runs: Sequence[Run]) -> CountedAcceptance:
    """Returns the acceptance estimated from the accepted lengths of runs."""
    from simulator.acceptance.counted import CountedAcceptance

    counts = counts_of(runs)
    if not counts:
        raise ValueError(
            "state an acceptance: the length of a run in `runs` with gamma above 0 (length=L), "
            "or an acceptance rate"
        )
    return CountedAcceptance(counts)


def counts_of(runs: Sequence[Run]) -> list[Accepted]:
    """Returns the counts of accepted tokens of all runs with speculation."""
    from simulator.acceptance.accepted import Accepted

    return [
        Accepted(
            run.gamma, run.length, run.rates, run.drafts, run.load.context, drafted=run.drafted
        )
        for run in runs
        if run.gamma > 0 and run.counted
    ]


def completed(
    runs: Sequence[Run], acceptance: Acceptance, counted: Accepted | None = None
) -> tuple[Run, ...]:
    """Returns runs; missing lengths are from `counted` if it has the run's γ, or `acceptance`."""

    def filled(run: Run) -> Run:
        if counted is not None and counted.gamma == run.gamma:
            return replace(run, length=counted.length, drafted=counted.drafted)
        most = acceptance.observed_gamma
        if most is not None and run.gamma > most:
            raise ValueError(
                f"length must be given with `runs` gamma={run.gamma}: acceptance was observed up "
                f"to gamma {most}"
            )
        return replace(run, length=float(acceptance.tokens_per_call(run.gamma)))

    return tuple(run if run.counted else filled(run) for run in runs)
