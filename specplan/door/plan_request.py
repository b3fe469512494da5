"""Builds the request of `specplan plan` and of `specplan.plan` from its options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from engines.kind import engine_kinds
from specplan.options.choice import Answer, Choice
from specplan.options.costs.profile import OfProfile, Profiled
from specplan.options.costs.runs import OfRuns
from specplan.options.draft_kind import COPIES, DRAFT_KINDS, law_of
from specplan.options.graphs import Graphs, walled
from specplan.options.kinds import (
    AcceptanceKind,
    Background,
    CostKind,
    Stated,
    filled,
    prices,
)
from specplan.options.runs import Runs, completed
from specplan.options.stopping import StoppingOptions, ranked

if TYPE_CHECKING:
    from estimator.profiles.p_min import Thresholds
    from simulator.acceptance.stopping.batch import RankedTexts
    from simulator.choice.grid import PlanRequest
    from simulator.choice.plan import Plan
    from simulator.cost.pricing import Pricing
    from specplan.reports.plan_json import Basis


COARSE = "Not all batch sizes are shown: between two that advise one K, all advise this K."
FILLED = "Lengths that a --run lacks are the acceptance's tokens per call."


@dataclass(frozen=True)
class PlanArguments:
    """Arguments of `specplan plan`, and the form of its answer.

    thresholds: texts replayed at thresholds of a stopping rule; None: drafts have a fixed length.
    fixed: the plan of drafts of a fixed length, to compare with `thresholds`; None without them.
    other: the plan with the profile's other way of drafting; None if it has only one.
    ranked: texts to verify by rank; None: all drafted tokens are verified.
    """

    request: PlanRequest
    basis: Basis
    answer: Answer
    thresholds: Thresholds | None = None
    fixed: PlanRequest | None = None
    other: PlanRequest | None = None
    ranked: RankedTexts | None = None

    def planned(self) -> tuple[tuple[Plan, ...], Basis]:
        """Returns the plans, and their origin with the plan of the other way to sample drafts."""
        from simulator.choice.grid import plans

        rows = plans(self.request)
        if self.other is None:
            return rows, self.basis
        return rows, replace(self.basis, other=plans(self.other)[0])


def asked(ctx: click.Context) -> PlanArguments:
    """Returns the arguments that the command's options state."""
    return requested(*filled(ctx, Choice, Answer, Profiled, StoppingOptions, Graphs))


def requested(
    accepted: AcceptanceKind,
    costs: CostKind,
    choice: Choice,
    answer: Answer,
    file: Profiled,
    stopping: StoppingOptions,
    graphs: Graphs,
) -> PlanArguments:
    """Returns the arguments that filled records of options state (commands and Python)."""
    from simulator.choice.grid import DENSE, MOST_ROWS, PlanRequest, coarse
    from specplan.reports.plan_json import Basis

    from_profile = isinstance(costs, OfProfile)
    if choice.reads_again and from_profile:
        raise click.UsageError("--reads-again cannot be given with --profile: its times hold it")
    profile = file.read()
    server = None if answer.server is None else engine_kinds()[answer.server]
    drafting = server if stopping.server is None else engine_kinds()[stopping.server]
    background = Background(profile, server or drafting, choice.max_gamma)
    runs = (costs.runs or ()) if isinstance(costs, Runs) else ()

    def states(priced: Sequence[Pricing]) -> Stated:
        return accepted.make(replace(background, draft_kind=law_of(choice.draft_kind, priced)))

    early = None
    if not all(run.counted for run in runs):
        bare = replace(costs, runs=None)  # type: ignore[call-arg]
        early = states(() if isinstance(costs, OfRuns) else prices(bare, background))
        if len(early.acceptances) > 1:
            raise click.UsageError("a --run needs its length where several acceptances are given")
        runs = completed(runs, early.acceptances[0])
        costs = replace(costs, runs=runs)  # type: ignore[call-arg]
        early = replace(early, notes=(*early.notes, FILLED))
    costs, wall = walled(costs, graphs, server)
    served = None if profile is None else profile.setup.target

    def price(batches: tuple[int, ...] | None) -> tuple[Pricing, ...]:
        stating = costs if batches is None else replace(costs, batch=batches)  # type: ignore[call-arg]
        found = prices(stating, background)
        return tuple(choice.sized(replace(each, wall=wall), runs, served) for each in found)

    many = getattr(costs, "batch", None) or ()
    cells = len(many) * len(getattr(costs, "context", None) or (0,))
    dense = len(many) <= DENSE or cells > MOST_ROWS
    priced = price(None if dense else coarse(many))
    if server is not None and runs and not many and priced[0].batch < priced[-1].batch:
        dense, many = False, tuple(range(priced[0].batch, priced[-1].batch + 1))
        priced = price(coarse(many))
    stated = states(priced) if early is None else early
    thresholds = stopping.thresholds(file.profile_path, profile, stated, server)
    by_rank = getattr(accepted, "verification", None) == "adaptive"
    if by_rank and (thresholds is not None or server is not None):
        refused = "--p-min" if server is None else "--export"
        raise click.UsageError(f"--verification adaptive cannot be combined with {refused}")
    longest, plain = choice.max_gamma, stated
    if thresholds is not None:
        if len(priced) > 1:
            raise click.UsageError("--p-min needs a single cost")
        stated = replace(stated, acceptances=thresholds.acceptances, doubt=None)
        longest = min(longest, thresholds.max_gamma)
    gpus = {None if price.load is None else price.load.gpu for price in priced}
    scheduled = len(stated.acceptances) == 1 and len(gpus) == 1
    scheduled = scheduled and all(price.load is not None for price in priced)
    several = thresholds is None and len(stated.acceptances) * len(priced) > 1
    if server is not None and several and not scheduled:
        what = "--gpu" if len(gpus) > 1 else "alpha and c"
        raise click.UsageError(f"--export needs a single {what}")
    request = PlanRequest(
        stated.acceptances,
        priced,
        c_hat=choice.c_hat,
        gamma=choice.gamma,
        max_gamma=longest,
        near=choice.near / 100,
        doubt=stated.doubt if from_profile else None,
        reads_again=choice.reads_again,
        batches=many,
        finer=None if dense else price,
    )
    other = fixed = None
    if thresholds is not None:
        doubt = plain.doubt if from_profile else None
        fixed = replace(
            request, acceptances=plain.acceptances, doubt=doubt, max_gamma=choice.max_gamma
        )
    if stated.other is not None and not several and thresholds is None:
        other = replace(request, acceptances=(stated.other,), doubt=None)
    return PlanArguments(
        request,
        Basis(
            counted=stated.counted,
            c_hat_is_c=choice.c_hat is None and priced[0].c_hat is None,
            draft_sampling=stated.draft_sampling,
            verification=stated.verification,
            quiet=None if profile is None else profile.clock.quiet,
            notes=(*stated.notes, *([] if dense else [COARSE])),
            only=choice.gamma,
            drafter=COPIES.get(choice.draft_kind or "")
            or (profile.setup.draft if profile else None),
            draft_kind=DRAFT_KINDS.get(choice.draft_kind or ""),
            draft=choice.draft,
        ),
        answer,
        thresholds,
        fixed,
        other,
        ranked=ranked(file.profile_path, profile, stated) if by_rank else None,
    )
