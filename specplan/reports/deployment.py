"""Notes and JSON on the loads of plans: the machine, the memory, and the γ of each batch size."""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from simulator.choice.odds import certainty, percentage
from simulator.choice.plan import Plan
from simulator.choice.schedule import Range, last_paying_batch, schedules
from simulator.cost.setting import CostSetting, Load, Wall
from specplan.reports.basis import SOURCE

_MOSTLY = 0.5
_SINGLE = ("rtx-30", "rtx-40", "rtx-50")  # GPUs of which a computer seldom has several
_VLLM_ZERO = (
    "On vLLM a server that has its draft and drafts nothing is slower than one without a draft: "
    "--export vllm counts that, and may draft where K is 0 here."
)
_ESTIMATED = {
    "between": " (between the batches that were run)",
    "beyond": " (beyond the batches that were run)",
}


def load_notes(row: Plan, load: Load) -> list[str]:
    """Returns notes on one plan's load (batch size, context): its costs' source, and its memory."""
    draft = "" if load.draft_kind == "model" else f" The draft was taken for {load.draft_kind}."
    where = _ESTIMATED.get(load.estimated or "", "")
    at = f"batch {row.setting.batch}{where}, context {load.context}"
    notes = [f"Costs {load.origin}, {at}.{draft}"]
    if not load.fits:
        notes.append(does_not_fit(row.setting))
    elif load.modelled and row.cost.posterior is None:
        speeds = published_speeds(row.setting, row.tokens_per_second)
        notes.append(
            "Few speeds of several sequences are published to judge this by."
            if speeds is None
            else f"Eight of ten published speeds lie between {speeds[0]:.0f} and {speeds[1]:.0f} "
            f"tokens per second where this plan has {row.tokens_per_second:.0f}. A server's time "
            "outside the models is left out: --cost-model public adds it, and speed-ups fall."
        )
    return [*notes, *load.notes, *_overhead_notes(load)]


def cost_notes(loads: Sequence[Load | None]) -> list[str]:
    """Returns the sources of modelled costs and notes on their accuracy, without duplicates."""
    modelled = [load for load in loads if load is not None and load.modelled]
    return list(
        dict.fromkeys(s for load in modelled for s in (f"Costs {load.origin}.", *load.notes))
    )


def cost_json(load: Load | None) -> dict[str, Any] | None:
    """Returns a JSON object with the cost model and its source; None if the load is not known."""
    return None if load is None else {"model": load.cost_model, "source": load.origin}


def rows_notes(rows: Sequence[Plan]) -> list[str]:
    """Returns notes on costs for a table of plans, taken from the first plan for each GPU."""
    notes: list[str] = []
    several = len(gpus_of(rows)) > 1
    loads = ((row.setting.load, row.cost.posterior) for row in reversed(rows))
    for load, posterior in {load.gpu: (load, of) for load, of in loads if load}.values():
        draft = "" if load.draft_kind == "model" else f", drafted by {load.draft_kind}"
        doubt = "; a server's time outside the models is left out"
        doubt *= load.modelled and posterior is None
        origin = load.origin
        if several:
            origin = SOURCE.sub("", origin).replace(str(load.gpu), "each GPU")
        fixed = [f"{load.gpu}: {note}" if several else note for note in _overhead_notes(load)]
        notes += [f"Costs {origin}{draft}{doubt}.", *load.notes, *fixed]
    return list(dict.fromkeys(notes))


def _overhead_notes(load: Load) -> list[str]:
    """Returns a warning if more than half of a draft step's time is assumed; else []."""
    share = load.draft_overhead
    if share is None or share <= _MOSTLY:
        return []
    return [
        f"{100 * share:.0f} % of a draft step is the fixed time assumed for each layer "
        "(--layer-overhead-us): c depends on it."
    ]


def published_speeds(
    setting: CostSetting, tokens_per_second: float | None
) -> tuple[float, float] | None:
    """Returns the predicted tokens/s times `Load.speeds`; None if batch is above 1."""
    speeds = None if setting.load is None else setting.load.speeds
    if speeds is None or tokens_per_second is None or setting.batch > 1:
        return None
    return speeds[0] * tokens_per_second, speeds[1] * tokens_per_second


def graphs_line(wall: Wall) -> str:
    """Returns the legend of "!" (a step beyond captured graphs), with the flag of that limit."""
    return (
        f"! more than {wall.most} {wall.unit} a step: no captured graph ({wall.flag}), "
        "and its time is not known"
    )


def does_not_fit(setting: CostSetting) -> str:
    """Returns a sentence that a batch does not fit, with what would."""
    load = setting.load
    assert load is not None
    most = f"a batch of {load.most_batch} or less, " if load.most_batch else ""
    more = "more GPUs (--tp) or " * (not str(load.gpu).startswith(_SINGLE))
    return (
        f"Does NOT fit: batch {setting.batch} at context {load.context} needs "
        f"{load.needed_gb or 0:.0f} GB of weights and caches on each GPU, which has "
        f"{load.memory_gb or 0:.0f} GB. Take {most}{more}a smaller --dtype."
    )


def of_loads(rows: Sequence[Plan]) -> bool:
    """Returns whether plans have loads, one acceptance and one machine, as a schedule requires.

    One acceptance may have another α at another context.
    """
    loads = [row.setting.load for row in rows]
    alphas = {(row.place[0], row.alpha) for row in rows}
    same = len(alphas) == len({row.place[0] for row in rows}) and len(gpus_of(rows)) < 2
    return loads[0] is not None and same and len({load and load.tp for load in loads}) == 1


def gpus_of(rows: Sequence[Plan]) -> list[str]:
    loads = [row.setting.load for row in rows]
    return list(dict.fromkeys(load.gpu for load in loads if load is not None and load.gpu))


def ranges_json(ranges: Sequence[Range], *, undecided: bool) -> list[dict[str, Any]]:
    """Returns ranges of batch sizes as JSON.

    undecided: measurements must decide the γ. Then "gamma" is 0, and "test_gamma" is to be run.
    """
    return [
        asdict(part)
        | ({"gamma": 0, "test_gamma": part.gamma or None} if undecided else {"test_gamma": None})
        for part in ranges
    ]


def schedules_json(rows: Sequence[Plan], only: int | None = None) -> list[dict[str, Any]]:
    """Returns the γ of each context and range of batch sizes as JSON; only: the one γ allowed."""
    undecided = any(row.advice.undecided for row in rows)
    return [
        {"context": context, **part}
        for context, ranges in schedules(rows, only).items()
        for part in ranges_json(ranges, undecided=undecided)
    ]


def zero_fields(row: Plan) -> dict[str, Any] | None:
    """Returns the JSON of K = 0 on a server that speculates; None if its price is not known."""
    if row.setting.zero is None:
        return None
    from specplan.reports.zero import zero_json

    return zero_json(row)


def schedules_text(rows: Sequence[Plan], only: int | None = None) -> list[str]:
    """Returns notes on each context's schedule: the largest batch that gains, and why K changes.

    With several contexts, also the γ by range of batch sizes: of one, `lengths_sentence` says it.
    """
    from specplan.reports.contexts import contexts_text
    from specplan.reports.first_runs import first_runs
    from specplan.reports.lengths import listed
    from specplan.reports.zero import zero_lines

    lines, wall = contexts_text(rows, only), rows[0].setting.wall
    single = len({row.setting.batch for row in rows}) == 1
    if lines and single and not any(row.advice.undecided for row in rows if row.setting.fits):
        return lines
    by_context = schedules(rows, only)
    for context, ranges in by_context.items():
        if len(by_context) > 1:
            parts = [(part.first_batch, part.last_batch, part.gamma) for part in ranges]
            lines.append(f"Schedule at context {context}: {listed(parts, 'batch')}.")
        loads = ((row, row.setting.load) for row in rows)
        some = {
            row.setting.batch: row
            for row, load in loads
            if load and load.context == context and load.fits
        }
        rises = any(later.gamma > part.gamma > 0 for part, later in pairwise(ranges))
        if rises and not any(row.advice.measured for row in some.values()):
            lines.append("K rises with the batch where a further token adds less to a step.")
        last = last_paying_batch(schedules(rows, only, restarted=True)[context])
        undecided = any(first_runs(row, rows) for row in some.values())
        if undecided:
            pass  # the first sentence asks for runs
        elif last is None:
            lines.append(_nowhere(rows))
        elif last < ranges[-1].last_batch:
            stops = f"Speculation stops paying beyond batch {last}."
            beyond = some[min(batch for batch in some if batch > last)]
            if wall is not None and wall.crossed(beyond.setting.batch, only or 1):
                longer = f"{'even ' * (only is None)}K = {only or 1}"
                stops = (
                    f"Beyond batch {wall.most_batch(only or 1)} {longer} exceeds the captured "
                    f"graphs of {wall.most} {wall.unit} a step: {wall.flag} moves the limit."
                )
            # A row's odds belong to its own K, not to the K that the user names.
            doubtful = only is None and stops.startswith("Speculation")
            lines.append(_surely(beyond, "a loss is likelier", stops) if doubtful else stops)
        else:
            fits = " that fits" if getattr(some[last].setting.load, "needed_gb", None) else ""
            pays = f"Speculation still pays at batch {last}, the largest planned{fits}."
            lines.append(_surely(some[last], "almost certain", pays))
        if not undecided:
            lines += zero_lines(rows, only, context)
        if len({r.gamma > 0 for r in ranges}) > 1 and all(map(_unpriced, some.values())):
            lines.append(_VLLM_ZERO)
        if len(ranges) > 1:
            lines.append("K changes only where keeping it would lose more than 1 %.")
    return lines


def _unpriced(row: Plan) -> bool:
    """Returns whether no server is known, of which drafting nothing could have a price."""
    load = row.setting.load
    return row.setting.zero is None and load is not None and not load.modelled


def _surely(row: Plan, words: str, sentence: str) -> str:
    """Returns `sentence` if `words` describe the gain's probability, else a text that states it."""
    chance = row.advice.gain_probability
    sure = words if chance is None else certainty(chance)
    if sure == words:
        return sentence
    gain = "a gain is unlikely" if sure == "a loss is likelier" else f"a gain is {sure}"
    return f"At batch {row.setting.batch} {gain} ({percentage(chance or 0)})."


def _nowhere(rows: Sequence[Plan]) -> str:
    """Returns a sentence that speculation pays at no batch size, or that this is undecided."""
    chance = max(row.advice.gain_probability or 0.0 for row in rows)
    if certainty(chance) == "a loss is likelier":
        return "Speculation pays at none of these batch sizes."
    return f"A gain is undecided at these batch sizes (at most {percentage(chance)})."
