"""`specplan.plan`: the plan for an acceptance and a cost."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from estimator.progress import heard
from specplan.api.inputs import Accepting, Costing, both, costs_of
from specplan.api.plan import PlanResult, Plans, exportable
from specplan.api.request import NO_LIMITS, Question
from specplan.api.settings import Choice

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile
    from specplan.api.drafts import SizedDraft

__all__ = ["plan"]


def plan(
    acceptance: Accepting | Sequence[SizedDraft],
    cost: Costing = None,
    *,
    gamma: int | None = None,
    max_gamma: int = 32,
    near: float = 1.0,
    c_hat: float | None = None,
    draft_kind: str | None = None,
    server: str | None = None,
) -> PlanResult | Plans:
    """Returns the plan for an acceptance and a cost, as `specplan plan` computes it.

    A `PlanResult` for one load; `Plans` for a list of batch sizes, contexts or costs, even of one.

    acceptance: Iid, ByPosition, AcceptedFraction, BlockEfficiency, Typical, an Acceptance of your
      own, what `observe` returned; or Recorded, Runs or a profile, which also have a cost. Several
      `SizedDraft` with a Roofline that has no draft: a row for each, the fastest first.
    cost: Ratio, Times, Roofline, Runs, Recorded, a Cost of your own or a list of costs, or a result
      of `measure`; None: the acceptance's cost, or the observed time of a token.
    gamma: draft length to evaluate; None: the best.
    max_gamma: largest draft length to consider, in 1..10,000.
    near: a smaller gamma is advised if it is at most this many per cent slower than the best.
    c_hat: operations of a draft step over operations of a target step; None: c.
    draft_kind: eagle3, mtp, suffix, ngram, ...: selects the prior for positions that were not
      counted; None: unknown.
    server: vllm, sglang, llama.cpp, ...: plans drafts as the server makes them, and `flags` returns
      its flags. None: any server.

    Raises OSError, ValueError if a file or a number cannot be used, or acceptance and cost do not
    fit together.
    """
    choice = Choice(draft_kind=draft_kind, max_gamma=max_gamma, c_hat=c_hat, gamma=gamma, near=near)
    if isinstance(acceptance, Sequence):
        from specplan.api.drafts import plans_of_drafts

        return plans_of_drafts(
            acceptance, costs_of(cost), choice, server=exportable(server), graphs=NO_LIMITS
        )
    accepted, costs = both(acceptance, cost)
    question = Question(accepted, costs, choice, server=exportable(server))
    return answered(question, several=costs.several)


def answered(question: Question, *, several: bool = False) -> PlanResult | Plans:
    """Returns the answer to a question: `Plans` if there are several rows or several is true."""
    rows = question.plans()
    if len(rows) == 1 and not several:
        return PlanResult(rows[0], question)
    shown = tuple(row for row in rows if question.shows(row))
    return Plans(shown, question, tuple(row for row in rows if not question.shows(row)))


def exported(profile: Profile) -> dict[str, str]:
    """Returns flags by server that can run the profile's drafts; notes are comments above them."""
    from specplan.reports.flags import exported_to

    flags, notes = {}, list[str]()
    for server in exported_to():
        notes.clear()
        with suppress(ValueError), heard(lambda note, _: notes.append(f"# {note}\n")):
            answer = plan(profile, server=server).flags()
            flags[server] = "".join(notes) + answer
    return flags
