"""`specplan traffic`: the effect of speculation on a server under load."""

from collections.abc import Sequence
from typing import Any

import click

from simulator.traffic.answer import TrafficRequest
from simulator.traffic.answer import answer as simulated
from simulator.traffic.demand import Requests
from simulator.traffic.policy import burst_simulations
from specplan.api.request import Question
from specplan.api.settings import Arrivals, Batching, Graphs, Simulation
from specplan.api.traffic import requested
from specplan.options.answer import answer
from specplan.options.command import Command
from specplan.options.declared import takes
from specplan.options.kinds import acceptance_kinds, cost_kinds, filled
from specplan.options.plan_options import TrafficAnswer, TrafficFigure
from specplan.reports.deployment import cost_json, cost_notes
from specplan.reports.simulated import POLICIES
from specplan.reports.table import Column, folded, possible, table
from specplan.reports.traffic import graphs_lines, traffic_json, traffic_text

# Each has a plainer option here, or a default that fits the load.
_RARE = (
    "c", "context", "batch", "bench_paths", "tp", "typical", "accepted_fraction", "at_gamma",
    "block_efficiency",
)  # fmt: skip


@click.command("traffic", cls=Command)
@takes(Arrivals, heading="Requests")
@takes(*acceptance_kinds(), heading="Acceptance (one of)", rare=_RARE)
@takes(*cost_kinds(), heading="Cost (one of)", rare=_RARE)
@takes(Batching, Graphs, heading="Server")
@takes(Simulation, TrafficFigure, TrafficAnswer, heading="Answer")
@click.pass_context
def traffic_command(ctx: click.Context, /, **_: object) -> None:
    """Show what speculation does to a server that many requests arrive at.

    For each rate of requests: how many are decoded together, the time between two tokens and
    the time to the first token (TTFT), with speculation and without; the capacity of the server,
    and the rate above which speculation lengthens requests. Acceptance and cost are stated as for
    `specplan plan`; costs that differ by batch (a GPU, a profile of 'measure --batch', runs of
    several batches) show from which load on speculation does not pay.

    \b
    Examples:
      specplan traffic --rate 1,5,20 --prompt-tokens 1000 --output-tokens 300 \\
        --alpha 0.7 --gpu h100 --target-config T/config.json --draft-config D/config.json
      specplan traffic --trace day.csv --simulate --slo ttft=500,tpot=30 --alpha 0.7 \\
        --gpu h100 --target-config T/config.json --draft-config D/config.json
      specplan traffic --burst 1000 --prompt-tokens 200 --output-tokens 800 \\
        --alpha 0.7 --gpu h100 --target-config T/config.json --draft-config D/config.json
      specplan traffic --rate 2 --prompt-tokens 200 --output-tokens 100 --prompt-ms 40 \\
        --run gamma=0,tpot=7,batch=1 --run gamma=0,tpot=11,batch=16 \\
        --run gamma=3,tpot=4,length=2.8,batch=1 --run gamma=3,tpot=9,length=2.8,batch=16
    """
    records = (Arrivals, Batching, Simulation, Graphs, TrafficFigure, TrafficAnswer)
    accepted, costs, arrivals, batching, simulation, graphs, drawn, form = filled(ctx, *records)
    if drawn.figure is not None and arrivals.burst is not None:
        raise ValueError("`figure` cannot be combined with `burst`")
    question = Question(accepted.make(), costs.make(), graphs=graphs)
    request, notes, load = requested(question, arrivals, batching, simulation)
    cost, notes = cost_json(load), (*cost_notes([load]), *notes)
    if request.burst is not None:
        data, text = _burst(request, request.burst, notes)
        answer(lambda: {**data, "cost": cost}, lambda: text, form=form)
        return
    found = simulated(request)
    data = {**traffic_json(request, found), "cost": cost}
    answer(lambda: data, lambda: traffic_text(request, found, data, notes), form=form)
    if drawn.figure is not None:
        from figures.ours.traffic import Served, compute
        from figures.registry import FIGURES

        FIGURES["traffic"].draw(compute(Served(request.pair))).savefig(drawn.figure)


def _burst(
    request: TrafficRequest, burst: Requests, notes: Sequence[str]
) -> tuple[dict[str, Any], str]:
    """Returns how fast each γ serves a burst of requests, as JSON and as a table."""
    pair = request.pair
    found = burst_simulations(pair, burst, drawn=request.drawn, seed=request.seed)
    rows = [
        {
            "policy": each.policy,
            "gamma": each.gamma,
            "seconds": each.result.seconds,
            "improvement_factor": found[0].result.seconds / each.result.seconds,
            "tokens_per_second": each.result.tokens_per_second,
            "preemptions": each.result.preemptions,
        }
        for each in found
    ]
    columns: list[Column[dict[str, Any]]] = [
        ("gamma", lambda each: str(each["gamma"] or POLICIES[each["policy"]])),
        ("seconds to the last token", "{seconds:.4g}"),
        ("times faster", "{improvement_factor:.2f}"),
        ("tokens/s", "{tokens_per_second:.0f}"),
        ("preempted", "{preemptions}"),
    ]
    data = possible({"burst": len(found[0].result.last), "rows": rows})
    lines = graphs_lines(pair, {each.gamma for each in found if each.gamma})
    return data, "\n".join([table(rows, columns), *map(folded, [*lines, *notes])])
