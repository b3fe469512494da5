"""The flags of plans: one draft length, or a draft length by batch size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engines.kind import Drafted, exports_of
from specplan.reports.deployment import does_not_fit
from specplan.reports.export import KEPT, export, export_schedule, marked
from specplan.reports.output import warn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simulator.choice.grid import Range
    from simulator.choice.plan import Plan
    from specplan.reports.basis import Basis


_CONTEXTS = """\
# Servers choose by batch, not by context: take what fits your prompts. Releases of vLLM refuse a
# schedule by batch and context (5 items an entry, proposed in July 2026, pull request 48944)."""


def flags_of_plans(rows: Sequence[Plan], basis: Basis, *, server: str, p_min: float = 0.0) -> str:
    """Returns the flags that make a server draft as planned, for each context separately.

    Args:
      rows: plans of one acceptance, one for each load.
      server: one of `exported_to`.
      p_min: the threshold below which a draft ends; 0: drafts have a fixed length.
    """
    by_context: dict[int | None, list[Plan]] = {}
    for row in rows:
        load = row.price.load
        by_context.setdefault(None if load is None else load.context, []).append(row)
    if len(by_context) == 1:
        return _of_context(rows, basis, server, p_min)
    parts = [_CONTEXTS]
    for context, some in by_context.items():
        parts += [f"# at context {context}:", _of_context(some, basis, server, p_min)]
    return "\n".join(parts)


def _of_context(rows: Sequence[Plan], basis: Basis, server: str, p_min: float) -> str:
    """Returns the flags of one draft length, or of a length by batch size."""
    load = rows[0].price.load
    kind = basis.draft_kind or ("model" if load is None else load.draft_kind)
    draft = Drafted(basis.draft or "DRAFT", kind)
    ranges = _ranges(rows, basis.only) if len(rows) > 1 else ()
    row = rows[0]
    gamma = row.advice.test_gamma or row.advised_gamma if basis.only is None else row.gamma
    gamma = max((each.gamma for each in ranges), default=gamma)
    named = basis.drafter or basis.draft_kind or basis.draft
    if load is None and not named and gamma > 0:
        warn("--export is for a draft model: --draft-kind names another, such as eagle3 or mtp")
    if len({each.gamma for each in ranges}) > 1:
        return marked(export_schedule(server, ranges, draft=draft), rows)
    if load is not None and not load.fits:
        raise ValueError(f"--export: {does_not_fit(row.price)}")
    flags = export(
        server,
        gamma=gamma,
        draft=draft,
        drafter=basis.drafter,
        sampling=basis.draft_sampling,
        verification=basis.verification,
        p_min=p_min,
    )
    if row.extrapolated_at(gamma):
        warn(f"gamma {gamma} is beyond what was observed: its speed-up is extrapolated")
    early = p_min == 0 and any(run.drafted is not None for run in row.price.own_runs)
    kept = f"{KEPT}\n" * (early and bool(exports_of(server).stopping))
    return flags if gamma == 0 else kept + marked(flags, rows)


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
    loads = {row.price.batch: row.price.load for row in rows if row.price.load}
    notes = [note for each in loads.values() if not each.modelled for note in each.notes]
    for note in dict.fromkeys(notes):
        warn(note)
    beyond = [batch for batch, each in loads.items() if each.estimated == "beyond"]
    if beyond:
        warn(f"{len(beyond)} batch sizes from {min(beyond)} to {max(beyond)} lie beyond your runs")
    return ranges
