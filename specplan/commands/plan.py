"""`specplan plan`: plans gamma from numbers, without a model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import click

from specplan.door.plan_request import asked
from specplan.options.answers import answer
from specplan.options.choice import Answer, Choice
from specplan.options.declared import takes
from specplan.options.graphs import Graphs
from specplan.options.kinds import acceptance_kinds, cost_kinds
from specplan.options.requests import Command
from specplan.options.stopping import StoppingOptions


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

    Takes the acceptance (one of --alpha, --accepted-fraction, --block-efficiency,
    --acceptance-by-position, --profile) and the cost (--c, where verification is free; or times; or
    a GPU and two config.json), or both from what your server did (--run), and shows what every
    gamma gives; with --run or --engine its interval, too. --alpha and --c also take lists (0.7,0.8)
    and ranges (0.1:0.9:0.1), for a table.

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
    from simulator.choice.grid import plans
    from specplan.reports.adaptive import AdaptivePlans
    from specplan.reports.p_min import StoppedPlans
    from specplan.reports.plan import plans_text, warn_of_plans
    from specplan.reports.plan_json import plans_json

    asking = asked(ctx)
    rows, basis = asking.planned()
    form, p_min, lost = asking.answer, 0.0, ""
    text: Callable[[], str]
    if asking.ranked is not None:
        by_rank = AdaptivePlans(rows, asking.ranked)
        data, text = by_rank.json(), by_rank.text
    elif asking.thresholds is None or asking.fixed is None:
        data, text = plans_json(rows, basis), partial(plans_text, rows, basis)
    else:
        found = StoppedPlans(rows, asking.thresholds, *plans(asking.fixed))
        data, text = found.json(basis), partial(found.text, basis)
        rows, p_min, lost = (found.exported[0],), found.exported[1], found.lost
    warn_of_plans(rows, basis, max_gamma=asking.request.max_gamma)
    if form.server is None:
        answer(data, text, form=form)
    else:
        from specplan.reports.flags import flags_of_plans

        flags = lost + flags_of_plans(rows, basis, server=form.server, p_min=p_min)
        answer({**data, "export": flags}, lambda: flags, form=form)
