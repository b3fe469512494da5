"""What a plan says of its load: the machine, what fits, and which γ at which batch size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.choice.plan import Plan
    from simulator.choice.schedule import Range
    from specplan.reports.pricing import Load, Pricing

_MOSTLY = 0.5
_KEYS = ("gpu", "dtype", "tp", "draft_kind", "context", "needed_gb", "fits")


def load_json(plan: Plan, price: Pricing) -> dict[str, Any]:
    """Returns the keys of one plan's load; null where its costs are no roofline's."""
    stated = {} if price.load is None else asdict(price.load)
    fields = {key: stated.get(key) for key in _KEYS}
    return {**fields, **dict(zip(_SPREAD, spread(plan, price), strict=True))}


_SPREAD = ("tokens_per_second_low", "tokens_per_second_high")


def spread(plan: Plan, price: Pricing) -> tuple[float | None, float | None]:
    """Returns between which speeds eight of ten measured ones lie where a roofline says a plan's.

    Of single sequences: hardly any speed of several has been published.
    """
    from simulator.cost.efficiency import MEASURED_HIGH, MEASURED_LOW

    speed = plan.tokens_per_second
    if price.load is None or price.load.measured or speed is None or price.batch > 1:
        return None, None
    return MEASURED_LOW * speed, MEASURED_HIGH * speed


def load_notes(plan: Plan, price: Pricing) -> list[str]:
    """Returns what a reader of one plan must know of its load."""
    load = price.load
    if load is None:
        return []
    if load.measured:
        return [f"Costs measured on {load.gpu}, batch {price.batch}, context {load.context}."]
    draft = "" if load.draft_kind == "model" else f" The draft was taken for {load.draft_kind}."
    notes = [
        f"Costs by the roofline of {machine(load.gpu, load.tp)}, batch {price.batch}, context "
        f"{load.context}.{draft}"
    ]
    if not load.fits:
        notes.append(does_not_fit(price))
    low, high = spread(plan, price)
    if low is not None and high is not None and load.fits:
        notes.append(
            f"Eight of ten published speeds lie between {low:.0f} and {high:.0f} tokens per second "
            "where this says " + f"{plan.tokens_per_second:.0f}; ratios hold better."
        )
    elif load.fits:
        notes.append("Hardly any speed of several sequences is published to judge this by.")
    return [*notes, *overhead_notes(load)]


def overhead_notes(load: Load) -> list[str]:
    """Returns that a draft's time is mostly assumed, where it is."""
    share = load.draft_overhead
    if share is None or share <= _MOSTLY:
        return []
    return [
        f"{100 * share:.0f} % of a draft step is time that each layer is taken to need whatever it "
        "computes (--layer-overhead-us): c hangs on it."
    ]


def machine(gpu: str, tp: int) -> str:
    """Returns the GPUs in words."""
    return gpu if tp == 1 else f"{tp} × {gpu}"


def does_not_fit(price: Pricing) -> str:
    """Returns that and by how much the memory does not suffice."""
    assert price.load is not None
    assert price.load.needed_gb is not None
    return (
        f"Does NOT fit: batch {price.batch} at context {price.load.context} needs "
        f"{price.load.needed_gb:.0f} GB of weights and caches on each GPU."
    )


def schedules(
    plans: Sequence[Plan], prices: Sequence[Pricing]
) -> dict[int, tuple[Range, ...]]:
    """Returns the schedule of each context, of the batch sizes that fit; none without a load."""
    from simulator.choice.schedule import schedule

    gammas: dict[int, dict[int, int]] = {}
    for plan, price in zip(plans, prices, strict=True):
        if price.load is not None and price.load.fits:
            gammas.setdefault(price.load.context, {})[price.batch] = plan.gamma_near
    return {context: schedule(of_context) for context, of_context in gammas.items()}


def schedules_json(found: dict[int, tuple[Range, ...]]) -> list[dict[str, Any]]:
    """Returns the ranges of all contexts, each with its context."""
    return [{"context": context, **asdict(each)} for context in found for each in found[context]]


def schedules_text(found: dict[int, tuple[Range, ...]]) -> list[str]:
    """Returns a line of ranges for each context, and where speculation stops paying."""
    from simulator.choice.schedule import last_paying_batch

    lines = []
    for context, ranges in found.items():
        parts = ", ".join(
            f"gamma {each.gamma} " + (
                f"at batch {each.first_batch}"
                if each.first_batch == each.last_batch
                else f"up to batch {each.last_batch}"
            )
            for each in ranges
        )
        lines.append(f"Schedule at context {context}: {parts}.")
        last = last_paying_batch(ranges)
        if last is None:
            lines.append("Speculation pays at none of these batch sizes.")
        elif last < ranges[-1].last_batch:
            lines.append(f"Speculation stops paying beyond batch {last}.")
        else:
            lines.append(f"Speculation still pays at batch {last}, the largest planned that fits.")
    return lines
