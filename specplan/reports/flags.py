"""Flags that make a server draft as planned: a draft length, or a draft length by batch size."""

from collections.abc import Callable, Sequence
from functools import partial
from textwrap import fill, indent
from typing import TypeVar

from engines.kind import EARLIEST, Drafted, Exports, exports_of, methods_of, names_of
from estimator.progress import notice
from estimator.traces.traces import Verification
from simulator.choice.odds import percentage
from simulator.choice.plan import Plan
from simulator.choice.schedule import Range, schedules
from specplan.reports.advice import odds_text
from specplan.reports.deployment import does_not_fit
from specplan.reports.draft_labels import DraftLabels, require_loaded, served
from specplan.reports.first_runs import cautious, commented, first_runs
from specplan.reports.kept import confirm_comment, kept_comment
from specplan.reports.next_run import deciding, expected, next_runs, runs_text

Words = TypeVar("Words")
NO_DRAFT = "# gamma is 0: run the target without a draft"
KEPT = "# The drafts seen ended early, as by a p-min: at p-min 0 they do not. Keep yours if so."
_CONTEXTS = """\
# Servers choose by batch, not by context: take what fits your prompts. Releases of vLLM refuse a
# schedule by batch and context (5 items an entry, proposed in July 2026, pull request 48944) and
# num_speculative_tokens_per_seq_len (pull request 54801): both were open in September 2026."""


def flags_of_plans(
    rows: Sequence[Plan], drafter: DraftLabels, *, server: str, p_min: float = 0.0
) -> str:
    """Returns the flags that make a server draft as planned, separately for each context length.

    rows: plans for one acceptance, one for each load. p_min: see `export`.
    """
    by_context: dict[int | None, list[Plan]] = {}
    for row in rows:
        load = row.setting.load
        by_context.setdefault(None if load is None else load.context, []).append(row)
    if len(by_context) == 1:
        return _of_context(rows, drafter, server, p_min)
    blocks = [f"# at context {context}:\n{_of_context(some, drafter, server, p_min)}"
            for context, some in by_context.items()]  # fmt: skip
    return "\n".join([_CONTEXTS, *blocks])


def _of_context(rows: Sequence[Plan], drafter: DraftLabels, server: str, p_min: float) -> str:
    """Returns the flags for one context length: one γ, or one γ for each range of batch sizes."""
    load, source = rows[0].setting.load, rows[0].acceptance.source
    draft = drafter.drafted(load, source.draft_sampling)
    ranges = _ranges(rows, rows[0].only) if len(rows) > 1 else ()
    row = rows[0]
    # Only an engine that ends drafts can keep a run whose drafts ended.
    kept = row.kept if p_min == 0 and exports_of(server).stopping and not rows[0].only else None
    gamma = row.advice.test_gamma or row.advice.gamma if rows[0].only is None else row.gamma
    gamma = gamma if kept is None else kept.run.gamma
    gamma = max((part.gamma for part in ranges), default=gamma)
    named = drafter.name or drafter.kind or drafter.model
    if load is None and not named and gamma > 0:
        notice(
            "the flags are for a separate draft model: `draft_kind` names another kind "
            "(eagle3, mtp, dflash, suffix, ngram)"
        )
    priced = ""
    if len(rows) > 1:
        from specplan.reports.zero import zero_comment

        priced = zero_comment(rows)
    flags_at = partial(
        export,
        server,
        draft=draft,
        drafter=drafter.name,
        verification=source.verification,
        p_min=p_min if kept is None else None,
    )
    if len({part.gamma for part in ranges}) > 1:
        flags = priced + export_schedule(server, ranges, draft=draft)
        return _with_next(marked(flags, rows), rows, flags_at)
    if load is not None and not load.fits:
        raise ValueError(f"`server`: {does_not_fit(row.setting)}")
    flags = flags_at(gamma=gamma)
    if kept is not None:
        return f"{kept_comment(kept)}\n{flags}"
    if row.extrapolated_at(gamma):
        notice(f"gamma {gamma} is beyond what was observed: its speed-up is extrapolated")
    early = p_min == 0 and any(run.drafted is not None for run in row.cost.own_runs)
    yours = f"{KEPT}\n" * (early and bool(exports_of(server).stopping))
    if row.other is not None and load is None and row.only is None:
        from specplan.reports.profile import more_gain

        yours += more_gain(row, row.other)
    if gamma == 0:
        return flags
    return _with_next(yours + marked(priced + flags, rows), rows, flags_at)


def _with_next(flags: str, rows: Sequence[Plan], flags_at: Callable[..., str]) -> str:
    """Returns flags and, as comments, flags of the next run or of the run to go back to.

    flags_at: returns the flags of its argument `gamma`.
    """
    if (decides := deciding(rows)) is None or rows[0].only:
        return flags
    fastest, gamma = decides.fastest_run, next_runs(decides)[-1]
    if len(rows) > 1:
        words = f"To run next: {runs_text(next_runs(decides), *decides.place)}."
    elif fastest is not None and fastest.gamma > 0:
        gamma = fastest.gamma
        words = f"To go back to K = {gamma}:"
    else:
        words = expected(decides) and f"To run next: {expected(decides)}."
    later = commented(flags_at(gamma=gamma))
    words = indent(fill(words, 96), "# ")
    return f"{flags}\n{words}\n{later}" if words and later not in commented(flags) else flags


def _ranges(rows: Sequence[Plan], only: int | None) -> tuple[Range, ...]:
    by_context = schedules(rows, only)
    if not by_context:
        raise ValueError("none of these batch sizes fits into the memory of the GPUs")
    (ranges,) = by_context.values()
    unfit = [row.setting.batch for row in rows if not row.setting.fits]
    if unfit:
        notice(f"batches of {min(unfit)} and more do not fit: the schedule ends before")
    if any(rows[0].extrapolated_at(part.gamma) for part in ranges):
        notice(
            "some of these gammas are beyond what was observed: their speed-ups are extrapolated"
        )
    loads = {row.setting.batch: row.setting.load for row in rows if row.setting.load}
    notes = [note for load in loads.values() if not load.modelled for note in load.notes]
    for note in dict.fromkeys(notes):
        notice(note)
    beyond = [batch for batch, load in loads.items() if load.estimated == "beyond"]
    if beyond:
        notice(
            f"{len(beyond)} batch sizes from {min(beyond)} to {max(beyond)} lie beyond your runs"
        )
    return ranges


def exported_to() -> tuple[str, ...]:
    """Returns the names of the engines whose flags for drafting are known."""
    return names_of(lambda kind: kind.exports)


def export(
    server: str,
    *,
    gamma: int,
    draft: Drafted,
    drafter: str | None = None,
    verification: Verification | None = None,
    p_min: float | None = 0.0,
) -> str:
    """Returns the flags that make an engine draft gamma tokens per block, ready to paste.

    Lookups and suffixes draft at most gamma tokens; a comment says how the engine's lookup differs.
    Refuses a draft that the engine does not support.

    server: one of `exported_to`.
    gamma: drafted tokens per block; 0 gives a comment that advises no speculation.
    drafter: the drafter as `measure --draft` names it, for what `draft` leaves out; None: none.
    p_min: the confidence below which a draft ends; 0: drafts have a fixed length; None: as it runs.
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
            same = parsed.earliest and rule == EARLIEST
            return flags if same else f"# {server} copies from {rule}\n{flags}"
        if parsed.suffixes is not None:
            suffix = _offered(server, "suffix decoding", lambda exports: exports.suffix)
            return NO_DRAFT if gamma == 0 else suffix(gamma, *parsed.suffixes)
        draft = served(draft, drafter) if gamma > 0 else draft
    if gamma == 0:
        return NO_DRAFT
    exports = exports_of(server)
    require_loaded(server, draft, methods_of(server))
    if p_min and not exports.stopping:
        raise ValueError(f"`server` {server} has no threshold that ends a draft, got {p_min:g}")
    return exports.fixed(gamma, draft, verification, p_min)


def export_schedule(server: str, ranges: Sequence[Range], *, draft: Drafted) -> str:
    """Returns the flags that set a draft length for each range of batch sizes, ready to paste."""
    exports = exports_of(server)
    schedule = _offered(server, "several batch sizes", lambda exports: exports.schedule)
    if all(part.gamma == 0 for part in ranges):
        return "# gamma is 0 at every batch size: run the target without a draft"
    methods = methods_of(server).items()
    scheduled = [kind for kind, method in methods if method not in exports.unscheduled]
    require_loaded(f"{server} by batch size", draft, scheduled)
    return schedule(ranges, draft)


def marked(flags: str, rows: Sequence[Plan]) -> str:
    """Returns flags below a comment with the probability of a gain; undecided ones as comments."""
    if not (doubtful := [row for row in rows if row.advice.gain_probability is not None]):
        return flags
    first = {row.setting.batch: first_runs(row, rows) for row in rows}
    decides = deciding(rows)
    if len(rows) > 1 and decides is not None and any(first.values()):
        runs = runs_text(next_runs(decides), *decides.place)
        later = "These flags are what is expected today: plan again with the runs."
        top = indent(fill(f"Run {runs} first. {later}", 96), "# ")
        return f"{top}\n{commented(flags)}"
    if any(row.advice.undecided for row in doubtful):
        return cautious(flags, first)
    wall, batches = rows[0].setting.wall, [row.setting.batch for row in rows]
    if len(rows) == 1:
        named, batch = rows[0].advice.named, batches[0]
        lines = [f"# K = {named}: {odds_text(rows[0])}"] if rows[0].only in (None, named) else []
        lines += confirm_comment(rows[0], "")
        if wall is not None and wall.crossed(batch, named + 1):
            lines.append(
                f"# K = {named + 1} would need {wall.size(batch, named + 1)} {wall.unit} a step, "
                f"and graphs are captured up to {wall.most}"
            )
        return cautious("\n".join([*lines, flags]), first)
    chances = [row.advice.gain_probability or 0 for row in doubtful if row.advised_gamma]
    lines = [f"# The probability of a gain is {percentage(*chances)}."]
    if decides is not None:
        lines += confirm_comment(decides, f"At batch {decides.setting.batch}: ")
    crossed = [batch for batch in batches if wall is not None and wall.crossed(batch, 1)]
    if wall is not None and crossed:
        lines.append(
            f"# From batch {crossed[0]} on even K = 1 is beyond the captured graphs: set "
            f"{wall.flag}\n# to at least {wall.size(crossed[-1], 1)}, or serve fewer requests."
        )
    return cautious("\n".join([*lines, flags]), first)


def _offered(server: str, what: str, of: Callable[[Exports], Words | None]) -> Words:
    """Returns the function, selected by `of`, that writes an engine's flags for a kind of draft.

    Raises ValueError, with the engines that have one, if this engine has none. what: the kind.
    """
    words = of(exports_of(server))
    if words is None:
        known = ", ".join(names_of(lambda kind: kind.exports and of(kind.exports)))
        raise ValueError(f"`server` of {what} must be one of {known}, got {server}")
    return words
