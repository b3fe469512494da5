"""`specplan traffic`: the effect of speculation on a server under load."""

import click

from specplan.door.traffic import requested
from specplan.options.command import Command, takes
from specplan.options.kinds import acceptance_kinds, cost_kinds, filled
from specplan.options.plan_options import Graphs
from specplan.options.traffic_options import Arrivals, Batching, Simulation
from specplan.options.values import Written
from specplan.options.values import answer as give
from specplan.reports.deployment import cost_json, cost_notes
from specplan.reports.simulated import burst_json, burst_text
from specplan.reports.traffic import traffic_json, traffic_text

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
@takes(Simulation, Written, heading="Answer")
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
    from simulator.traffic.answer import answer
    from simulator.traffic.policy import burst_simulations

    *inputs, form = filled(ctx, Arrivals, Batching, Simulation, Graphs, Written)
    request, notes, load = requested(*inputs)
    cost, notes = cost_json(load), (*cost_notes([load]), *notes)
    pair, figure = request.pair, ctx.params["figure"]
    if request.burst is not None:
        burst = burst_simulations(pair, request.burst, drawn=request.drawn, seed=request.seed)
        data = {**burst_json(burst), "cost": cost}
        give(lambda: data, lambda: burst_text(pair, data, notes), form=form)
        return
    found = answer(request)
    data = {**traffic_json(request, found), "cost": cost}
    give(lambda: data, lambda: traffic_text(request, found, data, notes), form=form)
    if figure is not None:
        from figures.ours.traffic import compute
        from figures.registry import FIGURES

        FIGURES["traffic"].draw(compute(pair)).savefig(figure)
