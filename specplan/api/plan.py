"""Plans as `specplan.plan` returns them: numbers, schedules, flags, tables and drawings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from simulator.choice.schedule import Range, last_paying_batch, schedules
from simulator.cost.costs import StatedCosts
from specplan.api.request import Question
from specplan.api.shown import Shown

if TYPE_CHECKING:
    from simulator.choice.advice import Advice
    from simulator.choice.controlled import Controlled
    from simulator.choice.curve import Curve
    from simulator.choice.plan import Plan
    from simulator.cost.fitted.runs import Run
    from specplan.reports.controller import ControllerReport

__all__ = ["Best", "PlanResult", "Plans"]


class Best(NamedTuple):
    """The draft length with the largest speed-up. If no length gains: gamma 0, speed-up 1."""

    gamma: int
    speed_up: float
    tokens_per_call: float


class Answered(Shown):
    """An answer to a question, with which a server's own choice of K can be compared."""

    question: Question

    def against_controller(self, runs: Sequence[Run]) -> ControllerReport:
        """Returns what a server that chooses K gains over fixed drafts: `plan --controller`.

        runs: `Run.of(0, ...)` of a server that chose K, by batch.

        Raises ValueError unless the plan's cost is of a server: `Runs`, or a `Roofline` with a GPU.
        """
        from specplan.reports.controller import ControllerReport

        return ControllerReport(*compared(self.question, runs))


@dataclass(frozen=True)
class PlanResult(Answered):
    """A plan for one load. It prints as the text of `specplan plan`; a notebook shows it.

    row: the plan's numbers in full (`simulator.choice.plan.Plan`).
    question: the acceptance, the cost and the settings that it answers.
    """

    row: Plan
    question: Question = field(repr=False)

    @property
    def best(self) -> Best:
        """The draft length with the largest speed-up; gamma 0 if no length gains."""
        point = self.row.point(self.row.optimal_gamma)
        return Best(point.gamma, point.improvement_factor, point.expected_tokens)

    @property
    def advice(self) -> Advice:
        """The decision: the γ to run (0: none), the probability of a gain, the next run."""
        return self.row.advice

    @property
    def curve(self) -> Curve:
        """Arrays by γ = 1, 2, ...: gamma, speed_up, low, high (the interval), expected_tokens."""
        return self.row.curve

    @property
    def fits(self) -> bool:
        """Whether both models fit into the memory of each GPU, as far as is known."""
        return self.row.setting.fits

    @property
    def batch(self) -> int:
        """Sequences decoded together."""
        return self.row.setting.batch

    def flags(self, server: str | None = None) -> str:
        """Returns the flags that make a server draft the advised γ.

        server: vllm, sglang, ...; None: the server given to `plan`.
        """
        return _flags(self.question, (self.row,), server)

    def json(self) -> Mapping[str, Any]:
        """Returns the JSON object of `specplan plan --json`."""
        from specplan.reports.plans import plan_json

        return plan_json(self.row)

    def records(self) -> Sequence[Mapping[str, Any]]:
        """Returns the curve, a row for each γ."""
        rows: Sequence[Mapping[str, Any]] = self.json()["curve"]
        return rows

    def __str__(self) -> str:
        from specplan.reports.plan import plan_text

        return plan_text(self.row)

    def __repr__(self) -> str:
        best = self.best
        return (
            f"<plan: best gamma {best.gamma}, speed-up {best.speed_up:.2f}; "
            f"advised gamma {self.advice.gamma}>"
        )


@dataclass(frozen=True)
class Plans(Answered, Sequence[PlanResult]):
    """Plans for several loads, acceptances or costs. They print as one table.

    rows: the numbers of each plan, in the order of the table.
    between: plans for further batch sizes, from which the schedule follows, too.
    drafts: name of each row's draft, if the rows are of several drafts, the fastest first;
      `question` and `flags` then are of the fastest.
    """

    rows: tuple[Plan, ...]
    question: Question = field(repr=False)
    between: tuple[Plan, ...] = field(default=(), repr=False)
    drafts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return replace(self, rows=self.rows[index])
        return PlanResult(self.rows[index], self.question)

    def __iter__(self) -> Iterator[PlanResult]:
        return (PlanResult(row, self.question) for row in self.rows)

    @property
    def every(self) -> tuple[Plan, ...]:
        """All rows by load, those between the shown ones included."""
        if not self.between:
            return self.rows
        return tuple(sorted([*self.rows, *self.between], key=lambda row: row.place))

    @cached_property
    def _schedules(self) -> dict[int, tuple[Range, ...]]:
        from specplan.reports.deployment import of_loads

        if self.drafts or not of_loads(self.every):
            raise ValueError("a schedule needs plans that differ only in batch size and context")
        return schedules(self.every, self.question.choice.gamma)

    @cached_property
    def _paying(self) -> dict[int, tuple[Range, ...]]:
        return schedules(self.every, self.question.choice.gamma, restarted=True)

    @property
    def schedule(self) -> tuple[Range, ...]:
        """The γ to run by range of batch sizes; at the first context if there are several."""
        return next(iter(self._schedules.values()), ())

    @property
    def crossing(self) -> int | None:
        """The largest batch size at which speculation pays; None if it pays at none.

        It is compared with a server without speculation. The schedule may draft at larger batch
        sizes, since drafting nothing has a price on a server that speculates.
        """
        return last_paying_batch(next(iter(self._paying.values()), ())) if self.schedule else None

    @property
    def fits(self) -> tuple[bool, ...]:
        """Whether both models fit into the memory of each GPU, for each plan."""
        return tuple(row.setting.fits for row in self.rows)

    def flags(self, server: str | None = None) -> str:
        """Returns the flags that make a server draft by this schedule (`PlanResult.flags`)."""
        return _flags(self.question, self.rows[:1] if self.drafts else self.every, server)

    def json(self) -> Mapping[str, Any]:
        """Returns the JSON object of `specplan plan --json`."""
        from specplan.reports.plans import plans_json

        return plans_json(self.rows, self.every, self.drafts)

    def records(self) -> Sequence[Mapping[str, Any]]:
        """Returns a row for each plan."""
        rows: Sequence[Mapping[str, Any]] = self.json().get("rows", [self.json()])
        return rows

    def __str__(self) -> str:
        from specplan.reports.plans import plans_text

        return plans_text(self.rows, self.every, self.drafts)


def compared(question: Question, runs: Sequence[Run]) -> tuple[Controlled, str | None]:
    """Returns what a server's controller gains over the fixed drafts of a question, and the server.

    runs: times of a token in which the server chose K.

    Raises ValueError if the question has no costs by batch size.
    """
    from simulator.choice.controlled import controlled

    costs = question.costs
    if isinstance(costs, StatedCosts):
        raise ValueError("`controller` needs costs of a server: `runs`, or a `gpu`")
    batches = sorted({run.load.batch for run in runs})
    rows = replace(question, costs=costs.with_batches(batches)).plans()
    server = costs.server if question.server is None else question.server
    return controlled(runs, costs.runs, rows), server


def exportable(server: str | None) -> str | None:
    """Returns a server's name; raises ValueError if its flags for drafting are not known."""
    from specplan.reports.flags import exported_to

    if server is not None and server not in exported_to():
        raise ValueError(f"server must be one of {', '.join(exported_to())}, got {server!r}")
    return server


def _flags(question: Question, rows: Sequence[Plan], server: str | None) -> str:
    from specplan.reports.flags import flags_of_plans

    name = exportable(question.server if server is None else server)
    if name is None:
        raise ValueError("plan or flags must be given a server, got none")
    if name != question.server:  # its drafts may be made in another way
        question = replace(question, server=name)
        rows = question.plans()
    return flags_of_plans(rows, question.drafter, server=name)
