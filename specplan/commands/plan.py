"""`specplan plan`: plans gamma from numbers, without a model."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import click

from specplan.door.plan_request import planned, ranked, requested, stopped
from specplan.options.command import Command, takes
from specplan.options.inputs.profile import Profiled
from specplan.options.kinds import acceptance_kinds, cost_kinds, filled
from specplan.options.plan_options import Answer, Choice, Graphs, StoppingOptions
from specplan.options.values import answer

if TYPE_CHECKING:
    from simulator.choice.plan import Plan
    from simulator.choice.plans import PlanRequest
    from specplan.reports.plan import Origin


@click.command(name="plan", cls=Command)
@takes(*acceptance_kinds(), heading="Acceptance (one of)")
@takes(*cost_kinds(), heading="Cost (one of)")
@takes(Choice, Graphs, StoppingOptions, Answer, heading="Answer")
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
      specplan plan --accepted-fraction 0.61 --at-gamma 4 --c 0.05
      specplan plan --run gamma=0,tpot=7.1 --run gamma=3,tpot=4.1,length=2.85
      specplan plan --alpha 0.8 --target-ms 19 --draft-ms 1.6 --verify-ms 4=33
      specplan plan --alpha 0.5:0.9:0.1 --c 0.02,0.05,0.1
      specplan plan --profile profile.json --export vllm
      specplan plan --target-config T/config.json --draft-config D/config.json \\
        --gpu h100 --alpha 0.7 --batch 1:256:1 --export vllm
    """
    records = (Choice, Answer, StoppingOptions, Graphs, Profiled)
    accepted, costs, choice, form, stopping, graphs, file = filled(ctx, *records)
    adaptive = getattr(accepted, "verification", None) == "adaptive"
    if adaptive and (form.server is not None or stopping.p_min is not None):
        refused = "--p-min" if form.server is None else "--export"
        raise click.UsageError(f"--verification adaptive cannot be combined with {refused}")
    if stopping.stopping_rule is not None and stopping.p_min is None:
        raise click.UsageError("--stopping-rule needs --p-min")
    request, origin = requested(
        accepted, costs, choice, server=form.server, stopping=stopping, graphs=graphs
    )
    _print(request, origin, form, stopping, file=file, adaptive=adaptive)


def _print(
    request: PlanRequest,
    origin: Origin,
    form: Answer,
    stopping: StoppingOptions,
    *,
    file: Profiled,
    adaptive: bool,
) -> None:
    """Plans, and prints the plans or a server's flags, unless a number is impossible."""
    from specplan.reports.plan import warn_of_plans

    data: Callable[[], dict[str, Any]]
    text: Callable[[], str]
    p_min, lost = 0.0, ""
    if stopping.p_min is not None:
        from simulator.choice.plans import plans
        from specplan.reports.stopping import StoppedPlans

        early, thresholds = stopped(request, origin, stopping, file, server=form.server)
        found = StoppedPlans(plans(early), thresholds, *plans(request))
        data, text = partial(found.json, origin), partial(found.text, origin)
        request, (row, p_min), lost = early, found.exported, found.lost
        rows: tuple[Plan, ...] = (row,)
    elif adaptive:
        from specplan.reports.stopping import AdaptivePlans

        rows, origin = planned(request, origin)
        by_rank = AdaptivePlans(rows, ranked(file, origin))
        data, text = by_rank.json, by_rank.text
    else:
        rows, origin = planned(request, origin)
        data, text = partial(_json, rows, origin), partial(_text, rows, origin)
    data, text = cache(data), cache(text)
    (text if form.server is None and not form.as_json else data)()  # ends on impossible numbers
    warn_of_plans(rows, origin, max_gamma=request.max_gamma)
    if form.server is None:
        answer(data, text, form=form)
        return
    from specplan.reports.flags import flags_of_plans

    flags = lost + flags_of_plans(rows, origin, server=form.server, p_min=p_min)
    answer(lambda: {**data(), "export": flags}, lambda: flags, form=form)


def _json(rows: tuple[Plan, ...], origin: Origin) -> dict[str, Any]:
    from specplan.reports.plans import plans_json

    return plans_json(rows, origin)


def _text(rows: tuple[Plan, ...], origin: Origin) -> str:
    from specplan.reports.plan import plan_text

    if len(rows) == 1:
        return plan_text(rows[0], origin)
    from specplan.reports.plans import plans_text

    return plans_text(rows, origin)
