"""`specplan plan`: gamma planning from numbers, no model needed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from engines.kind import Drafted
from specplan.options.declared import takes
from specplan.options.graphs import Graphs
from specplan.options.kinds import acceptance_kinds, cost_kinds
from specplan.options.planning import Answer, Choice, asked
from specplan.options.requests import Command
from specplan.options.stopping import StoppingOptions
from specplan.reports.output import answer, warn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulator.choice.plan import Plan
    from simulator.choice.schedule import Range
    from specplan.options.planning import Asked


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
    from specplan.reports.p_min import StoppedPlans
    from specplan.reports.plan import plans_text, warn_of_plans
    from specplan.reports.plan_json import plans_json

    asking = asked(ctx)
    rows = plans(asking.request)
    form, p_min = asking.answer, 0.0
    if asking.thresholds is None:
        data = plans_json(rows, asking.basis)
        text = partial(plans_text, rows, asking.basis)
    else:
        found = StoppedPlans(rows, asking.thresholds)
        data, text = found.json(asking.basis), partial(found.text, asking.basis)
        rows, p_min = (found.best,), found.gain.p_min
    warn_of_plans(rows, asking.basis, max_gamma=asking.request.max_gamma)
    if form.server is None:
        answer(data, text, form=form)
    else:
        flags = _flags(rows, asking, form.server, p_min)
        answer({**data, "export": flags}, lambda: flags, form=form)


def _flags(rows: Sequence[Plan], asking: Asked, server: str, p_min: float) -> str:
    """Returns what makes a server draft as planned, for each context apart."""
    by_context: dict[int | None, list[Plan]] = {}
    for row in rows:
        load = row.price.load
        by_context.setdefault(None if load is None else load.context, []).append(row)
    if len(by_context) == 1:
        return _flags_of_context(rows, asking, server, p_min)
    parts = ["# servers choose by batch, not by context: take what fits your prompts"]
    for context, some in by_context.items():
        parts += [f"# at context {context}:", _flags_of_context(some, asking, server, p_min)]
    return "\n".join(parts)


def _flags_of_context(rows: Sequence[Plan], asking: Asked, server: str, p_min: float) -> str:
    """Returns what makes a server draft as planned: always alike, or by batch size."""
    from specplan.reports.deployment import does_not_fit
    from specplan.reports.export import export, export_schedule, marked

    load = rows[0].price.load
    kind = asking.kind or ("model" if load is None else load.draft_kind)
    draft = Drafted("DRAFT", kind)
    if load is None and not asking.drafter and not asking.kind and rows[0].advice.named > 0:
        warn("--export is for a draft model: --draft-kind names another, such as eagle3 or mtp")
    ranges = _ranges(rows, asking.request.gamma) if len(rows) > 1 else ()
    if len({each.gamma for each in ranges}) > 1:
        return marked(export_schedule(server, ranges, draft=draft), rows)
    row = rows[0]
    gamma = (
        row.advice.test_gamma or row.advised_gamma if asking.request.gamma is None else row.gamma
    )
    if ranges:
        gamma = ranges[0].gamma
    if load is not None and not load.fits:
        raise ValueError(f"--export: {does_not_fit(row.price)}")
    flags = export(
        server,
        gamma=gamma,
        draft=draft,
        drafter=asking.drafter,
        sampling=asking.stated.draft_sampling,
        verification=asking.stated.verification,
        p_min=p_min,
    )
    if row.extrapolated_at(gamma):
        warn(f"gamma {gamma} is beyond what was observed: its speed-up is extrapolated")
    return flags if gamma == 0 else marked(flags, rows)


def _ranges(rows: Sequence[Plan], only: int | None) -> tuple[Range, ...]:
    from simulator.choice.grid import schedules

    found = schedules(rows, only)
    if not found:
        raise ValueError("none of these batch sizes fits into the memory of the GPUs")
    (ranges,) = found.values()
    unfit = [row.price.batch for row in rows if row.price.load and not row.price.load.fits]
    if unfit:
        warn(f"batches of {min(unfit)} and more do not fit: the schedule ends before")
    if any(rows[0].extrapolated_at(each.gamma) for each in ranges):
        warn("some of these gammas are beyond what was observed: their speed-ups are extrapolated")
    return ranges
