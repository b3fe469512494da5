"""Builds the request of `specplan plan` and of `specplan.plan` from acceptance and cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from engines.kind import engine_kinds, names_of
from specplan.door.prices import law_of, sized, walled
from specplan.options.inputs.profile import OfProfile, Profiled
from specplan.options.inputs.times import OfRuns
from specplan.options.kinds import AcceptanceKind, CostKind, Made, prices
from specplan.options.plan_options import COPIES, DRAFT_KINDS, Choice, Graphs, StoppingOptions
from specplan.options.runs import Runs, completed
from specplan.reports.output import warn

if TYPE_CHECKING:
    from estimator.profiles.p_min import Thresholds
    from simulator.acceptance.stopping.ranking import RankedTexts
    from simulator.choice.plan import Plan
    from simulator.choice.plans import PlanRequest
    from simulator.cost.cost import Cost
    from specplan.reports.plan import Origin

COARSE = "Not all batch sizes are shown: between two that advise one K, all advise this K."
FILLED = "Lengths that a --run lacks are the acceptance's tokens per call."
LOOKUP_LENGTH = (
    "the length of a lookup's run must count all steps: vLLM's mean acceptance length counts only "
    "the steps that drafted. The JSON of a bench (file=FILE) counts all steps"
)
DEFAULT_RULE = "llama.cpp"
NO_LIMITS, FIXED_LENGTH = Graphs(), StoppingOptions()


def requested(
    accepted: AcceptanceKind,
    costs: CostKind,
    choice: Choice,
    *,
    server: str | None = None,
    stopping: StoppingOptions = FIXED_LENGTH,
    graphs: Graphs = NO_LIMITS,
) -> tuple[PlanRequest, Origin]:
    """Returns the request for a plan with drafts of a fixed length, and the origin of its numbers.

    server: name of the engine to export for; None: no export.
    """
    from simulator.choice.plans import MOST_ROWS, PlanRequest
    from simulator.choice.schedule import DENSE, coarse, middles

    from_profile = isinstance(costs, OfProfile)
    if choice.reads_again and from_profile:
        raise click.UsageError("--reads-again cannot be given with --profile: its times hold it")
    file = profiled(accepted, costs)
    profile = None if file.profile_path is None else file.profile
    exporting = None if server is None else engine_kinds()[server]
    drafting = exporting
    if exporting is None and stopping.p_min is not None:
        rule = stopping.stopping_rule or DEFAULT_RULE
        having = names_of(lambda kind: kind.exports is not None and kind.exports.stopping == rule)
        drafting = engine_kinds()[having[0]] if having else None
    runs = (costs.runs or ()) if isinstance(costs, Runs) else ()

    def made(priced: Sequence[Cost]) -> Made:
        loads = [cost.setting.load for cost in priced]
        named = choice.draft_kind is not None or loads.count(None) < len(loads)
        return accepted.make(law_of(choice.draft_kind, priced) if named else None, drafting)

    early = None
    if not all(run.counted for run in runs):
        bare = replace(costs, runs=None)  # type: ignore[call-arg]
        known = isinstance(costs, OfRuns)
        acceptances, origin = made(() if known else prices(bare, choice.max_gamma, profile))
        if len(acceptances) > 1:
            raise click.UsageError("a --run needs its length where several acceptances are given")
        runs = completed(runs, acceptances[0])
        costs = replace(costs, runs=runs)  # type: ignore[call-arg]
        early = acceptances, replace(origin, notes=(*origin.notes, FILLED))
    wall = None
    if exporting is not None or graphs != NO_LIMITS or getattr(costs, "engine_family", None):
        costs, wall = walled(costs, graphs, exporting)
    served = None if profile is None else profile.setup.target

    def price(batches: tuple[int, ...] | None) -> tuple[Cost, ...]:
        stating = costs if batches is None else replace(costs, batch=batches)  # type: ignore[call-arg]
        found = [e.with_setting(wall=wall) for e in prices(stating, choice.max_gamma, profile)]
        if choice.draft is None and not runs:
            return tuple(found)
        return tuple(sized(each, choice, runs, served=served) for each in found)

    def finer(rows: Sequence[Plan]) -> tuple[Cost, ...]:
        between = middles(rows, many)
        return price(between) if between else ()

    many = getattr(costs, "batch", None) or ()
    cells = len(many) * len(getattr(costs, "context", None) or (0,))
    dense = len(many) <= DENSE or cells > MOST_ROWS
    priced = price(None if dense else coarse(many))
    first, last = priced[0].setting.batch, priced[-1].setting.batch
    if exporting is not None and runs and not many and first < last:
        dense, many = False, tuple(range(first, last + 1))
        priced = price(coarse(many))
    acceptances, origin = made(priced) if early is None else early
    if exporting is not None and stopping.p_min is None:
        _require_one_schedule(len(acceptances), priced)
    request = PlanRequest(
        acceptances,
        priced,
        c_hat=choice.c_hat,
        gamma=choice.gamma,
        max_gamma=choice.max_gamma,
        near=choice.near / 100,
        doubt=origin.doubt if from_profile else None,
        reads_again=choice.reads_again,
        finer=None if dense else finer,
    )
    copies = COPIES.get(choice.draft_kind or "")
    if copies and any(run.gamma > 0 and run.drafted is None for run in runs):
        warn(LOOKUP_LENGTH)
    return request, replace(
        origin,
        c_hat_is_c=choice.c_hat is None and priced[0].setting.c_hat is None,
        quiet=None if profile is None else profile.clock.quiet,
        notes=origin.notes if dense else (*origin.notes, COARSE),
        only=choice.gamma,
        drafter=copies or (None if profile is None else profile.setup.draft),
        draft_kind=DRAFT_KINDS.get(choice.draft_kind or ""),
        draft=choice.draft,
    )


def planned(request: PlanRequest, origin: Origin) -> tuple[tuple[Plan, ...], Origin]:
    """Returns the plans and their origin.

    If a profile was measured with sampled and with argmax drafts, the plan is for one of these ways
    to draft, and the returned origin contains the plan for the other way.
    """
    from simulator.choice.plans import plans

    rows = plans(request)
    if origin.other_way is None or len(rows) > 1:
        return rows, origin
    other = plans(replace(request, acceptances=(origin.other_way,), doubt=None))
    return rows, replace(origin, other=other[0])


def profiled(*given: object) -> Profiled:
    """Returns the first profile of acceptance and cost; if both have none, an empty `Profiled`."""
    paths = (each.profile_path for each in given if isinstance(each, Profiled))
    return Profiled(next(paths, None))


def _require_one_schedule(acceptances: int, priced: Sequence[Cost]) -> None:
    """Raises click.UsageError unless there is one plan, or plans that differ only in their load."""
    gpus = {None if cost.setting.load is None else cost.setting.load.gpu for cost in priced}
    loads = all(cost.setting.load is not None for cost in priced)
    if acceptances * len(priced) > 1 and not (acceptances == len(gpus) == 1 and loads):
        what = "--gpu" if len(gpus) > 1 else "alpha and c"
        raise click.UsageError(f"--export needs a single {what}")


def stopped(
    request: PlanRequest,
    origin: Origin,
    options: StoppingOptions,
    file: Profiled,
    *,
    server: str | None,
) -> tuple[PlanRequest, Thresholds]:
    """Returns the request with drafts that end early, and the texts replayed at each threshold.

    request, origin: the plan with drafts of a fixed length, and the origin of its numbers.
    options: the thresholds and the stopping rule.
    file: the profile whose traces contain the draft's confidence in each token.
    server: the engine to export for; None: no export.
    """
    if file.path is None or file.profile is None or origin.draft_sampling is None:
        raise click.UsageError("--p-min needs --profile, whose traces have the confidence")
    from estimator.profiles.p_min import AUTO, matched, recorded_traces, replayed
    from simulator.acceptance.replay import Recorded
    from simulator.acceptance.stopping.stopped_text import RULES

    recorded = all(isinstance(each, Recorded) for each in request.acceptances)
    if origin.verification != "token" or not recorded:
        raise click.UsageError(
            "--p-min needs drafts that are judged token by token, without lenience"
        )
    if len(request.costs) > 1:
        raise click.UsageError("--p-min needs a single cost")
    stated = options.p_min or ""
    found = matched(file.path, file.profile, stated)
    if found is not None:
        if options.stopping_rule is not None or server is not None:
            raise click.UsageError(
                "--p-min of a lookup is a least number of matched tokens, without --stopping-rule "
                "and --export: for flags measure --draft lookup:vllm:MIN-MAX"
            )
        return _ended(request, found), found
    exports = None if server is None else engine_kinds()[server].exports
    name = options.stopping_rule or (DEFAULT_RULE if exports is None else exports.stopping)
    if server is not None and not name:
        raise click.UsageError(f"--p-min: {server} has no threshold that ends a draft")
    if name not in RULES:
        raise click.UsageError(f"--stopping-rule must be one of {', '.join(RULES)}, got {name}")
    try:
        p_mins = AUTO if stated == "auto" else tuple(map(float, stated.split(",")))
    except ValueError:
        raise click.UsageError(
            f"--p-min must be auto or numbers in [0, 1], such as 0.3,0.5, got {stated!r}"
        ) from None
    sampling = origin.draft_sampling
    traces = recorded_traces(file.path, file.profile, sampling, option="--p-min")
    found = replayed(traces, RULES[name], p_mins, drawn=sampling == "sampled")
    return _ended(request, found), found


def _ended(request: PlanRequest, found: Thresholds) -> PlanRequest:
    longest = min(request.max_gamma, found.max_gamma)
    return replace(request, acceptances=found.acceptances, doubt=None, max_gamma=longest)


def ranked(file: Profiled, origin: Origin) -> RankedTexts:
    """Returns a profile's texts with the drafts' confidences, for `--verification adaptive`."""
    from estimator.profiles.adaptive import ranked_texts
    from estimator.profiles.p_min import recorded_traces

    option = "--verification adaptive"
    if file.path is None or file.profile is None or origin.draft_sampling != "argmax":
        raise click.UsageError(f"{option} needs argmax drafts: --draft-sampling argmax")
    return ranked_texts(recorded_traces(file.path, file.profile, "argmax", option=option))
