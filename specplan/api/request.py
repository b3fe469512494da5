"""Builds the request of a plan from acceptances, costs and settings, and plans it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engines.kind import engine_kinds, names_of
from estimator.progress import notice
from simulator.acceptance.acceptance import Acceptance
from simulator.choice.plans import MOST_ROWS, PlanRequest, plans
from simulator.choice.schedule import DENSE, coarse, middles
from simulator.cost.costs import Costs
from specplan.api.completed_costs import (
    draft_class_of,
    require_sound,
    sized,
    walled,
    with_c_hat,
    zeroed,
)
from specplan.api.recorded import Recorded
from specplan.api.runs import Runs, completed
from specplan.api.settings import COPIES, DRAFT_KINDS, Choice, Graphs, StoppingSettings

if TYPE_CHECKING:
    from engines.kind import EngineKind
    from estimator.profiles.profile import Profile
    from simulator.choice.curve import Covariance
    from simulator.choice.plan import Plan
    from simulator.cost.cost import Cost
    from simulator.cost.setting import Wall
    from specplan.reports.draft_labels import DraftLabels

AcceptanceInput = tuple[Acceptance, ...] | Recorded
COARSE = "Not all batch sizes are shown: between two that advise one K, all advise this K."
FILLED = "Lengths that a run lacks are the acceptance's tokens per call."
DEFAULT_RULE = "llama.cpp"
LOOKUP_LENGTH = (
    "the length of a lookup's run must count all steps: vLLM's mean acceptance length counts only "
    "the steps that drafted. The JSON of a bench (file=FILE) counts all steps"
)
# Kinds of published drafts, as flags name them.
_METHODS = {"EAGLE-3": "EAGLE-3", "MTP": "MTP", "draft model": "model"}
NO_LIMITS, FIXED_LENGTH, _CHOICE = Graphs(), StoppingSettings(), Choice()


@dataclass(frozen=True)
class Question:
    """Acceptances, costs and settings of a plan.

    acceptance: acceptances, a plan for each; or a profile.
    costs: a plan for each of them.
    server: name of the engine that the drafts are for, whose flags are printed; None: any.
    """

    acceptance: AcceptanceInput
    costs: Costs
    choice: Choice = _CHOICE
    server: str | None = None
    stopping: StoppingSettings = FIXED_LENGTH
    graphs: Graphs = NO_LIMITS

    def __post_init__(self) -> None:
        if not isinstance(self.acceptance, Recorded):
            require_sound(self.acceptance, self.costs)

    @property
    def recorded(self) -> Recorded | None:
        """The profile of acceptance or costs; None if both have none."""
        either = (self.acceptance, self.costs)
        return next((part for part in either if isinstance(part, Recorded)), None)

    @property
    def profile(self) -> Profile | None:
        """The measured profile of acceptance or costs; None if both have none."""
        return None if self.recorded is None else self.recorded.profile

    @property
    def exporting(self) -> EngineKind | None:
        """The engine that the drafts are for."""
        return None if self.server is None else engine_kinds()[self.server]

    @property
    def drafting(self) -> EngineKind | None:
        """An engine that makes drafts in the way to plan for; None: as they were measured."""
        if self.exporting is not None or self.stopping.p_min is None:
            return self.exporting
        rule = self.stopping.stopping_rule or DEFAULT_RULE
        having = names_of(lambda kind: kind.exports is not None and kind.exports.stopping == rule)
        return engine_kinds()[having[0]] if having else None

    @property
    def drafter(self) -> DraftLabels:
        """The names of the draft, for flags."""
        from simulator.acceptance.typical import Typical
        from specplan.reports.draft_labels import DraftLabels

        kind, model = self.choice.draft_kind or "", self.choice.draft
        measured = None if self.profile is None else self.profile.setup.draft
        first = None if isinstance(self.acceptance, Recorded) else self.acceptance[0]
        if isinstance(first, Typical) and not kind:
            published = first.published
            return DraftLabels(None, _METHODS.get(published.kind), model or published.draft)
        return DraftLabels(COPIES.get(kind) or measured, DRAFT_KINDS.get(kind), model)

    def shows(self, row: Plan) -> bool:
        """Returns whether a table shows the row: not between runs, unless its batch was stated."""
        load, costs = row.setting.load, self.costs
        stated = not costs.runs or costs.batches is not None or self.server is not None
        return stated or load is None or load.estimated is None

    def draft_class(self, costs: Sequence[Cost]) -> str | None:
        """Returns the class of the draft (its prior), as stated or as the costs name it."""
        loads = [cost.setting.load for cost in costs]
        named = self.choice.draft_kind is not None or loads.count(None) < len(loads)
        return draft_class_of(self.choice.draft_kind, costs) if named else None

    def acceptances(self, costs: Sequence[Cost]) -> tuple[Acceptance, ...]:
        """Returns the acceptances to plan with; costs may name the kind of draft."""
        draft_class = self.draft_class(costs)
        if isinstance(self.acceptance, Recorded):
            contexts = self.costs.contexts
            return (self.acceptance.acceptance(draft_class, self.drafting, contexts=contexts),)
        return tuple(acceptance.for_draft(draft_class) for acceptance in self.acceptance)

    def request(self) -> PlanRequest:
        """Returns the request for plans with drafts of a fixed length."""
        if self.choice.reads_again and isinstance(self.costs, Recorded) and not self.costs.batches:
            raise ValueError("`reads_again` cannot be given with `profile`: its times hold it")
        early, whole = self._completed()
        costs, wall = whole.costs, None
        if self.exporting is not None or self.graphs != NO_LIMITS or costs.server is not None:
            costs, wall = walled(costs, self.graphs, self.exporting)
        return whole._planned(costs, wall, early)

    def _completed(self) -> tuple[tuple[Acceptance, ...] | None, Question]:
        """Returns the acceptances and the question in which each run has a length.

        The acceptances are None if all runs have a length of their own.
        """
        costs, runs = self.costs, self.costs.runs
        if all(run.counted for run in runs):
            return None, self
        bare = () if isinstance(costs, Runs) else costs.with_runs(()).planned(1)
        acceptances = self.acceptances(bare)
        if len(acceptances) > 1:
            raise ValueError("a run needs its length where several acceptances are given")
        whole = replace(self, costs=costs.with_runs(completed(runs, acceptances[0])))
        return acceptances, whole

    def _planned(
        self, costs: Costs, wall: Wall | None, early: tuple[Acceptance, ...] | None
    ) -> PlanRequest:
        choice, profile, runs, server = self.choice, self.profile, costs.runs, costs.server
        engine = self.exporting if server is None else engine_kinds().get(server)
        served, c_hat = (None, None) if profile is None else (profile.setup.target, profile.c_hat)

        def priced(batches: Sequence[int] | None) -> tuple[Cost, ...]:
            some = costs if batches is None else costs.with_batches(batches)
            every = [
                zeroed(cost if wall is None else cost.with_setting(wall=wall), engine)
                for cost in with_c_hat(some.planned(choice.max_gamma), c_hat)
            ]
            if choice.draft is None and not runs:
                return tuple(every)
            return tuple(sized(cost, choice, runs, served=served) for cost in every)

        def finer(rows: Sequence[Plan]) -> tuple[Cost, ...]:
            between = middles(rows, many)
            return priced(between) if between else ()

        many, contexts = costs.batches or (), costs.contexts or (0,)
        dense = len(many) <= DENSE or len(many) * len(contexts) > MOST_ROWS
        coarsely = not dense
        planned = priced(None if dense else coarse(many))
        first, last = planned[0].setting.batch, planned[-1].setting.batch
        if runs and not many and first < last:
            many = tuple(range(first, last + 1))
            planned = priced(coarse(many))
            dense, coarsely = False, self.exporting is not None
        acceptances = self.acceptances(planned) if early is None else early
        if self.exporting is not None and self.stopping.p_min is None:
            _require_one_schedule(len(acceptances), planned)
        drafted = any(run.gamma > 0 and run.drafted is None for run in runs)
        if drafted and (choice.draft_kind or "") in COPIES:
            notice(LOOKUP_LENGTH)
        notes = [FILLED] * (early is not None) + [COARSE] * coarsely
        return PlanRequest(
            acceptances,
            planned,
            c_hat=choice.c_hat,
            gamma=choice.gamma,
            max_gamma=choice.max_gamma,
            near=choice.near / 100,
            doubt=self.doubt(acceptances[0]),
            reads_again=choice.reads_again,
            finer=None if dense else finer,
            notes=tuple(notes),
        )

    def doubt(self, acceptance: Acceptance) -> Covariance | None:
        """Returns the errors of speed-ups that a profile measured, if they are of this plan."""
        costs, given = self.costs, self.acceptance
        if not isinstance(costs, Recorded) or not isinstance(given, Recorded):
            return None
        if costs.batches or costs.contexts:
            return None
        from estimator.profiles.best import measured_doubt

        return measured_doubt(given.profile) if given.as_measured(acceptance) else None

    def plans(self) -> tuple[Plan, ...]:
        """Returns a plan for each acceptance and load.

        If a profile was measured with sampled and with argmax drafts, the plan is for one of these
        ways to draft, and its `other` is the plan for the other way.
        """
        request = self.request()
        rows = plans(request)
        if len(rows) > 1 or not isinstance(self.acceptance, Recorded):
            return rows
        (row,), draft_class = rows, self.draft_class(request.costs)
        other = self.acceptance.other_way(request.acceptances[0], draft_class, self.drafting)
        if other is None:
            return rows
        (second,) = plans(replace(request, acceptances=(other,), doubt=None))
        return (replace(row, other=second),)


def _require_one_schedule(acceptances: int, costs: Sequence[Cost]) -> None:
    """Raises ValueError unless there is one plan, or plans that differ only in their load."""
    every = [cost.setting.load for cost in costs]
    gpus = {None if load is None else (load.gpu, load.tp) for load in every}
    if acceptances * len(costs) > 1 and not (acceptances == len(gpus) == 1 and all(every)):
        what = "`gpu`" if len(gpus) > 1 else "alpha and c"
        raise ValueError(f"`server` needs a single {what}")
