"""From the options of `specplan plan` to what is asked: acceptances, costs, and the choice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engines.registry import engine_kinds
from specplan.options import acceptance, cost
from specplan.options.acceptance import Stated, acceptance_kinds
from specplan.options.choice import Answer, Choice
from specplan.options.cost import cost_kinds, prices
from specplan.options.costs.profile import Profiled
from specplan.options.kinds import chosen
from specplan.options.requests import fill
from specplan.reports.plan import Basis

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile
    from simulator.choice.grid import PlanRequest


@dataclass(frozen=True)
class Asked:
    """What `specplan plan` is asked, and how it is to answer.

    request: acceptances, costs and the choice.
    stated: the acceptances with what belongs to them.
    basis: where the numbers come from.
    drafter: the name of the profile's; None: no profile.
    answer: where the answer goes.
    """

    request: PlanRequest
    stated: Stated
    basis: Basis
    drafter: str | None
    answer: Answer


def asked(ctx: click.Context) -> Asked:
    """Returns what the options of a command ask.

    Raises:
      click.UsageError: if options are missing, or do not fit together.
      OSError, ValueError: if a file cannot be used, or a number is out of range.
    """
    from simulator.choice.grid import PlanRequest

    accepting = chosen(acceptance_kinds(), ctx, beside=("runs",), what="acceptance")
    costing = chosen(cost_kinds(), ctx, beside=("profile_path",), what="cost")
    accepted, costs, choice, answer, file = fill(
        ctx, [accepting.settings, costing.settings, Choice, Answer, Profiled]
    )
    if choice.reads_again and costing.settings is Profiled:
        raise click.UsageError("--reads-again cannot be given with --profile: its times hold it")
    profile = read(file.profile_path)
    server = None if answer.server is None else engine_kinds()[answer.server]
    stated = accepting.make(accepted, acceptance.Background(profile, server))
    priced = prices(costing, costs, cost.Background(profile, choice.max_gamma))
    not_worse = stated.not_worse if costing.settings is Profiled else None
    scheduled = len(stated.acceptances) == 1 and all(price.load is not None for price in priced)
    if server is not None and len(stated.acceptances) * len(priced) > 1 and not scheduled:
        raise click.UsageError("--export needs a single alpha and c")
    return Asked(
        PlanRequest(
            stated.acceptances,
            priced,
            c_hat=choice.c_hat,
            gamma=choice.gamma,
            max_gamma=choice.max_gamma,
            near=choice.near / 100,
            gain_certain=None if not_worse is None else not_worse > 0,
            reads_again=choice.reads_again,
        ),
        stated,
        Basis(
            counted=stated.counted,
            c_hat_is_c=choice.c_hat is None and priced[0].c_hat is None,
            draft_sampling=stated.draft_sampling,
            verification=stated.verification,
            quiet=None if profile is None else profile.quiet,
            notes=(*stated.notes, *_not_worse_note(not_worse)),
        ),
        None if profile is None else profile.setup.draft,
        answer,
    )


def _not_worse_note(gamma: int | None) -> tuple[str, ...]:
    if gamma is None:
        return ()
    what = "not speculating" if gamma == 0 else f"gamma {gamma}"
    return (f"Over the profile's prompts, {what} is not significantly worse than the best gamma.",)


def read(path: Path | None) -> Profile | None:
    """Returns the profile of a file; None without one.

    Raises:
      OSError, ValueError: if it cannot be read, or is none.
    """
    if path is None:
        return None
    from estimator.profiles.profile_file import read_profile

    return read_profile(path)
