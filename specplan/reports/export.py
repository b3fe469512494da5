"""Flags that set a plan in each kind of engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from engines.kind import EARLIEST, exports_of, listed, methods_of, names_of
from simulator.choice.advice import percentage
from specplan.reports.advice import odds_text

if TYPE_CHECKING:
    from engines.kind import Drafted, Exports
    from estimator.traces.traces import DraftSampling, Verification
    from simulator.choice.grid import Range
    from simulator.choice.plan import Plan

Words = TypeVar("Words")
NO_DRAFT = "# gamma is 0: run the target without a draft"
KEPT = "# The drafts seen ended early, as by a p-min: at p-min 0 they do not. Keep yours if so."


def exported_to() -> tuple[str, ...]:
    """Returns the names of engines with known flags."""
    return names_of(lambda kind: kind.exports)


def export(
    server: str,
    *,
    gamma: int,
    draft: Drafted,
    drafter: str | None = None,
    sampling: DraftSampling | None = None,
    verification: Verification | None = None,
    p_min: float = 0.0,
) -> str:
    """Returns the flags that make an engine draft gamma tokens per block, ready to paste.

    Lookups and suffix decoding draft at most gamma tokens; a comment names differences between an
    engine's lookup and ours.

    Args:
      server: one of `exported_to`.
      gamma: drafted tokens per block; 0 gives a comment that advises no speculation.
      drafter: the drafter as named by `--draft`, which has priority; None: only `draft` is known.
      sampling: the planned way of drafting; None: the engine's default.
      p_min: the threshold below which a draft ends; 0: drafts have a fixed length.
      verification: how drafts are verified; "block" for servers with block verification only.

    Refuses drafts that the engine does not have or load, and more tokens than it can draft.
    """
    if drafter is not None:
        from estimator.draft_names.kind import parse_drafter

        parsed = parse_drafter(drafter)
        if parsed.lookup_lengths is not None:
            lookup = _offered(server, "a lookup", lambda exports: exports.lookup)
            if gamma == 0:
                return "# gamma is 0: run the target without a lookup"
            rule = exports_of(server).lookup_rule
            flags = lookup(gamma, *parsed.lookup_lengths)
            same = parsed.copies_earliest and rule == EARLIEST
            return flags if same else f"# {server} copies from {rule}\n{flags}"
        if parsed.suffixes is not None:
            suffix = _offered(server, "suffix decoding", lambda exports: exports.suffix)
            return NO_DRAFT if gamma == 0 else suffix(gamma, *parsed.suffixes)
        if parsed.served is None and gamma > 0:
            raise ValueError(f"--export needs a draft model, got a profile of {drafter}")
        draft = replace(draft, name=parsed.served or draft.name)
    if gamma == 0:
        return NO_DRAFT
    exports = exports_of(server)
    _require_loaded(server, draft, methods_of(server))
    if p_min > 0 and not exports.stopping:
        raise ValueError(f"--export {server} has no threshold that ends a draft, got {p_min:g}")
    return exports.fixed(gamma, draft, sampling, verification, p_min)


def export_schedule(server: str, ranges: Sequence[Range], *, draft: Drafted) -> str:
    """Returns the flags that make an engine draft by a schedule, ready to paste; see `export`."""
    exports = exports_of(server)
    schedule = _offered(server, "several batch sizes", lambda exports: exports.schedule)
    if all(each.gamma == 0 for each in ranges):
        return "# gamma is 0 at every batch size: run the target without a draft"
    methods = methods_of(server).items()
    scheduled = [kind for kind, method in methods if method not in exports.unscheduled]
    _require_loaded(f"{server} by batch size", draft, scheduled)
    return schedule(ranges, draft)


def marked(flags: str, rows: Sequence[Plan]) -> str:
    """Returns flags under the plans' probability of a gain, as comments if undecided."""
    doubtful = [row for row in rows if row.advice.gain_probability is not None]
    if not doubtful:
        return flags
    if any(row.advice.undecided for row in doubtful):
        lines = ["Undecided: measure this number and 0 first, then take the # away.", flags]
        return "\n".join(f"# {line}" for line in "\n".join(lines).split("\n"))
    if len(rows) == 1:
        named, limit, batch = rows[0].advice.named, rows[0].price.wall, rows[0].price.batch
        reason = ""
        if limit is not None and limit.crossed(batch, named + 1):
            reason = (
                f"# K = {named + 1} would need {limit.size(batch, named + 1)} {limit.unit} a step, "
                f"and graphs are captured up to {limit.most}\n"
            )
        return f"# K = {named}: {odds_text(rows[0])}\n{reason}{flags}"
    chances = [row.advice.gain_probability or 0 for row in doubtful if row.advised_gamma]
    ends = dict.fromkeys(str(percentage(each)) for each in (min(chances), max(chances)))
    lines = [f"# The probability of a gain is {' to '.join(ends)} %."]
    wall, batches = rows[0].price.wall, [row.price.batch for row in rows]
    crossed = [batch for batch in batches if wall is not None and wall.crossed(batch, 1)]
    if wall is not None and crossed:
        lines.append(
            f"# From batch {crossed[0]} on even K = 1 is beyond the captured graphs: set "
            f"{wall.flag}\n# to at least {wall.size(crossed[-1], 1)}, or serve fewer requests."
        )
    return "\n".join([*lines, flags])


def _offered(server: str, what: str, of: Callable[[Exports], Words | None]) -> Words:
    """Returns an engine's function for a way of drafting; raises ValueError if it has none."""
    words = of(exports_of(server))
    if words is None:
        known = ", ".join(names_of(lambda kind: kind.exports and of(kind.exports)))
        raise ValueError(f"--export of {what} must be one of {known}, got {server}")
    return words


def _require_loaded(where: str, draft: Drafted, kinds: Collection[str]) -> None:
    if draft.kind not in kinds:
        raise ValueError(
            f"a draft for {where} must be of {listed(sorted(kinds))}, got {draft.kind}"
        )
