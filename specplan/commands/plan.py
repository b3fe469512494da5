"""`specplan plan`: plans gamma from numbers, without a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import click

from specplan.api.settings import Choice, Graphs, StoppingSettings
from specplan.options.answer import answer
from specplan.options.command import Command, fill
from specplan.options.controller import ControllerOptions
from specplan.options.declared import takes
from specplan.options.deployment import DraftsOptions
from specplan.options.inputs.profile import Profiled
from specplan.options.inputs.roofline import RooflineOptions
from specplan.options.kinds import acceptance_kinds, cost_kinds, filled
from specplan.options.plan_options import Answer

if TYPE_CHECKING:
    from simulator.choice.plan import Plan
    from simulator.cost.fitted.runs import Run
    from specplan.api.request import Question


_HEAT = "an acceptance holds for one temperature: state the acceptance that was counted at yours"
_OF_LOADS = ("--rate", "--slo", "--share", "--trace", "--prompt-tokens", "--output-tokens")
_LOAD = (
    "'specplan traffic' and 'specplan size' plan for requests; plan is for a batch size, --batch"
)


@click.command(
    name="plan", cls=Command, instead=dict.fromkeys(_OF_LOADS, _LOAD) | {"--temperature": _HEAT}
)
@takes(*acceptance_kinds(), heading="Acceptance (one of)")
@takes(*cost_kinds(), heading="Cost (one of)")
@takes(
    DraftsOptions, Choice, Graphs, StoppingSettings, Answer, heading="Answer", without=("draft",)
)
@takes(ControllerOptions, heading="Answer")
@click.pass_context
def plan_command(ctx: click.Context, /, **_: object) -> None:
    """Plan gamma from numbers; no model is needed.

    \b
    gamma              num_speculative_tokens (vLLM),
                       --spec-draft-n-max (llama.cpp)
    block efficiency   mean acceptance length: tokens per call of the target
    accepted fraction  "draft acceptance rate": falls with gamma, and is NOT alpha
    alpha              how likely a drafted token is accepted, if those before it are
    c                  time of a draft step over time of a target step

    The acceptance is one of --alpha, --accepted-fraction, --block-efficiency,
    --acceptance-by-position and --profile. The cost is --c, measured times, a --profile with times,
    or a GPU and two config.json files. --c assumes that checking a draft takes no longer than a
    target step. --run gives both, from what your server did. The answer shows the speed-up of every
    gamma, with its interval if --run or --engine is given. --alpha and --c also take lists
    (0.7,0.8) and ranges (0.1:0.9:0.1), for a table.

    \b
    Examples:
      specplan plan --acceptance-by-position 0.705,0.494,0.293 --c 0.05
      specplan plan --alpha 0.8 --c 0.05
      specplan plan --alpha 0.5:0.9:0.1 --c 0.02,0.05,0.1,0.2     # a table
      specplan plan --run gamma=0,tpot=7.1 --run gamma=3,tpot=4.1,length=2.85
      specplan plan --alpha 0.8 --target-ms 19 --draft-ms 1.6 --verify-ms 4=33
      specplan plan --alpha 0.5:0.9:0.1 --c 0.02,0.05,0.1
      specplan plan --profile profile.json --export vllm
      specplan plan --target-config T/config.json --draft-config D/config.json \\
        --gpu h100 --alpha 0.7 --batch 1:256:1 --export vllm
      specplan plan --target-config T/config.json --gpu h100 --batch 16 \\
        --draft config=D1/config.json,rates=0.8/0.6/0.45 --draft config=D2/config.json,alpha=0.7
    """
    from specplan.api.recorded import Recorded
    from specplan.api.request import Question

    if any(not isinstance(draft, str) for draft in ctx.params["drafts"] or ()):
        _print_drafts(ctx)
        return
    records = (Choice, Answer, StoppingSettings, Graphs, Profiled, DraftsOptions, ControllerOptions)
    accepted, costs, choice, form, stopping, graphs, _, stated, chosen = filled(ctx, *records)
    choice = replace(choice, draft=stated.name)
    acceptance = accepted.make()
    adaptive = isinstance(acceptance, Recorded) and acceptance.adaptive
    for other, value in (("server", form.server), ("p_min", stopping.p_min)):
        if adaptive and value is not None:
            raise ValueError(f"`verification` adaptive cannot be combined with `{other}`")
    if stopping.stopping_rule is not None and stopping.p_min is None:
        raise ValueError("`stopping_rule` needs `p_min`")
    question = Question(acceptance, costs.make(), choice, form.server, stopping, graphs)
    _print(question, form, chosen.controller or ())


def _print_drafts(ctx: click.Context) -> None:
    """Plans each draft of --draft at one load, and prints the plans, or flags of the fastest."""
    from specplan.api.drafts import plans_of_drafts
    from specplan.reports.plan import warn_of_plans

    records = (DraftsOptions, RooflineOptions, Choice, Answer, Graphs)
    stated, costs, choice, form, graphs = fill(ctx, records, way="--draft config=FILE")
    plans = plans_of_drafts(
        stated.described, costs.make(), choice, server=form.server, graphs=graphs
    )
    warn_of_plans(plans.rows, max_gamma=choice.max_gamma)
    if form.server is None:
        answer(plans.json, plans.__str__, form=form)
        return
    flags = plans.flags()
    answer(lambda: {**plans.json(), "export": flags}, lambda: flags, form=form)


def _print(question: Question, form: Answer, controlled: Sequence[Run]) -> None:
    """Plans, and prints the plans or a server's flags, unless a number is impossible."""
    from specplan.api.plan import PlanResult
    from specplan.api.planning import answered as answer_of
    from specplan.api.recorded import Recorded
    from specplan.reports.plan import warn_of_plans

    accepted = question.acceptance
    data: Callable[[], Mapping[str, Any]]
    text: Callable[[], str]
    p_min, lost, checked = 0.0, "", True
    most = question.choice.max_gamma
    if question.stopping.p_min is not None:
        from simulator.choice.plans import plans
        from specplan.api.stopping import stopped
        from specplan.reports.stopping import StoppedPlans

        request = question.request()
        early, thresholds = stopped(question, request)
        ended = StoppedPlans(plans(early), thresholds, *plans(request))
        data, text = ended.json, ended.text
        most, (row, p_min), lost = early.max_gamma, ended.exported, ended.lost
        rows: tuple[Plan, ...] = (row,)
    else:
        answered = answer_of(question)
        data, text = answered.json, answered.__str__
        rows = (answered.row,) if isinstance(answered, PlanResult) else answered.every
        # Flags of a schedule need none of the numbers that are printed for each of its plans.
        checked = len(rows) == 1 or form.server is None
        if isinstance(accepted, Recorded) and accepted.adaptive:
            from specplan.api.stopping import ranked
            from specplan.reports.stopping import AdaptivePlans

            texts = ranked(question.recorded, rows[0].acceptance.source.draft_sampling)
            by_rank = AdaptivePlans(rows, texts)
            data, text, checked = by_rank.json, by_rank.text, True
    if controlled:
        from specplan.api.plan import compared
        from specplan.reports.controller import ControllerReport

        data, text, comment = ControllerReport(*compared(question, controlled)).added(data, text)
        lost = comment + lost
    data, text = cache(data), cache(text)
    if checked:
        (text if form.server is None and not form.as_json else data)()  # ends on impossible numbers
    warn_of_plans(rows, max_gamma=most)
    if form.server is None:

        def further() -> dict[str, object]:
            from specplan.reports.page_flags import flags_of_machines

            server = question.costs.server
            if server is None or p_min or controlled:
                return {}
            return {"flags": flags_of_machines(rows, question.drafter, server) or None}

        answer(data, text, form=form, further=further)
        return
    from specplan.reports.flags import flags_of_plans

    flags = lost + flags_of_plans(rows, question.drafter, server=form.server, p_min=p_min)
    answer(lambda: {**data(), "export": flags}, lambda: flags, form=form)
