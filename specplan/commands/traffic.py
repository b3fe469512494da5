"""`specplan traffic`: the effect of speculation on a server under load."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from simulator.cost.costs import Costs
from specplan.api.request import Question
from specplan.api.roofline import Roofline
from specplan.api.settings import Arrivals, Batching, Graphs, Simulation
from specplan.api.traffic import TrafficResult, answered, requested
from specplan.options.answer import answer, stated_command
from specplan.options.command import Command
from specplan.options.declared import takes
from specplan.options.kinds import acceptance_kinds, cost_kinds, filled
from specplan.options.plan_options import TrafficAnswer
from specplan.reports.deployment import cost_json, cost_notes
from specplan.reports.machines import (
    machine_fails,
    machine_rows,
    machines_sentence,
    machines_text,
    ranked_machines,
)
from specplan.reports.simulated import burst_answer
from specplan.reports.target_grid import target_grid, traffic_by_rate
from specplan.reports.traffic import traffic_text
from specplan.reports.traffic_words import next_command

# Each has a plainer option here, or a default that fits the load.
_RARE = (
    "c", "context", "batch", "bench_paths", "typical", "accepted_fraction", "at_gamma",
    "block_efficiency",
)  # fmt: skip


@click.command("traffic", cls=Command)
@takes(Arrivals, heading="Requests")
@takes(*acceptance_kinds(), heading="Acceptance (one of)", rare=_RARE)
@takes(*cost_kinds(), heading="Cost (one of)", rare=_RARE)
@takes(Batching, Graphs, heading="Server")
@takes(Simulation, TrafficAnswer, heading="Answer")
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
    records = (Arrivals, Batching, Simulation, Graphs, TrafficAnswer)
    accepted, costs, arrivals, batching, simulation, graphs, form = filled(ctx, *records)
    stated = costs.make()
    costs_of_each: tuple[Costs, ...] = (stated,)
    machines: tuple[Any, ...] = ()
    if isinstance(stated, Roofline):
        costs_of_each, machines = stated.each_machine(), stated.machines
    if len(machines) > 1 and arrivals.burst is not None:
        raise ValueError("`burst` needs one `gpu` and one `tp`")
    accepting = accepted.make()
    questions = [Question(accepting, machine, graphs=graphs) for machine in costs_of_each]
    if arrivals.burst is not None:
        request, notes, load, basis = requested(questions[0], arrivals, batching, simulation)
        data, text = burst_answer(request, (*cost_notes([load]), *notes))
        answer(lambda: {**data, "basis": basis, "cost": cost_json(load)}, lambda: text, form=form)
        return
    answers = [
        _with_command(answered(question, arrivals, batching, simulation)) for question in questions
    ]
    if len(answers) > 1:
        _answer_machines(questions, answers, machines, form)
        return
    (served,) = answers

    def further() -> dict[str, object]:
        more = {
            "grid": target_grid(served.request, served),
            "flags": _flags(questions, answers, ()),
        }
        return {**more, "by_rate": traffic_by_rate(served.request, served)}

    answer(served.json, lambda: str(served), form=form, further=further)


def _with_command(served: TrafficResult) -> TrafficResult:
    """Returns the answer with the command of its next runs."""
    command = next_command(served.data["details"], stated_command())
    return replace(served, data={**served.data, "next_command": command})


def _answer_machines(
    questions: Sequence[Question],
    answers: Sequence[TrafficResult],
    machines: Sequence[tuple[str, int]],
    form: TrafficAnswer,
) -> None:
    """Prints and writes the answer for several machines, each (GPU, TP)."""
    rows = machine_rows(machines, [served.data for served in answers])
    answer(
        lambda: {"sentence": machines_sentence(rows), "machines": rows},
        lambda: machines_text(
            rows, [traffic_text(*one) for one in zip(answers, rows, strict=True)]
        ),
        form=form,
        further=lambda: {"flags": _flags(questions, answers, rows)},
    )


def _flags(
    questions: Sequence[Question], answers: Sequence[TrafficResult], rows: Sequence[Any]
) -> dict[str, str] | None:
    """Returns the flags by server, and by machine where there are several; None: none is named.

    rows: the result of `machine_rows`. The advised machine comes first; machines that do not serve
      the stated rates have no flags if others do.
    """
    from specplan.reports.page_flags import flags_under_load

    flags: dict[str, str] = {}
    order = ranked_machines(rows) if rows else range(len(answers))
    for at in [at for at in order if rows and not machine_fails(rows[at])] or order:
        costs = questions[at].costs
        if (server := costs.server) is None:
            continue
        load = costs.at(1).setting.load
        kind = "model" if load is None else load.draft_kind
        name = f"{server}, {rows[at]['gpu']}, TP {rows[at]['tp']}" if rows else server
        pair, drafter = answers[at].request.pair, questions[at].drafter
        text = flags_under_load(answers[at], pair, drafter, kind, server)
        if text is not None:
            flags[name] = text
    return flags or None
