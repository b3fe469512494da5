"""The tables of measured drafts: their ranking, kinds of prompts, parts of a block, and setup."""

from collections.abc import Sequence

from estimator.profiles.parts import Alpha, Estimate
from specplan.reports.page.inputs import Named
from specplan.reports.page.pictures import Table, between, number
from specplan.reports.table import ranged


def _estimate(estimate: Alpha | Estimate | None, digits: int = 3) -> str:
    if estimate is None:
        return "-"
    return ranged(estimate.value, estimate.low, estimate.high, f",.{digits}f")


def ranking(drafts: Sequence[Named]) -> Table:
    """Returns the drafts with their speed-ups, the best first."""
    cells, ways = [], not all(draft.profile.drafts_alike for draft in drafts)
    for draft in drafts:
        best, profile = draft.best, draft.profile
        gain = "-"
        if best is not None:
            gain = number(best.gain.replay)
            gain += between(best.gain.low, best.gain.high) * (best.gamma > 0)
        baseline = None if profile.cost is None else 1e3 * profile.cost.baseline_seconds
        quiet = {True: "yes", False: "NO", None: "-"}[profile.clock.quiet]
        cells.append([
            draft.name, gain, "-" if best is None else str(best.gamma or "none"),
            _estimate(profile.alpha), _estimate(profile.c), *[str(profile.draft_sampling)] * ways,
            number(baseline), str(profile.setup.date or "-"), quiet,
        ])  # fmt: skip
    heads = f"draft,speed-up,K,α,c,{'drafts,' * ways}ms/token without,date,quiet".split(",")
    return Table("Drafts, the best first", heads, cells, 0)


def by_kind(drafts: Sequence[Named]) -> list[Table]:
    """Returns a table for each draft and grouping of its prompts."""
    columns = ["prompts", "α", "tokens per call", "speed-up", "best K"]
    tables = []
    for draft in drafts:
        gamma = draft.profile.compared_gamma
        for by, workloads in draft.profile.workloads.items():
            cells = [
                [
                    name,
                    str(workload.alpha.prompts),
                    _estimate(workload.alpha),
                    _estimate(workload.tokens_per_call[gamma], 2),
                    _estimate(workload.improvement_factor[gamma], 2),
                    str(workload.optimal_gamma or "none"),
                ]
                for name, workload in workloads.items()
            ]
            tables.append(Table(f"By {by}: {draft.name}, K = {gamma}", [by, *columns], cells))
    return tables


def shares(drafts: Sequence[Named]) -> list[Table]:
    """Returns the priced parts of a block of each draft, in per cent."""
    cells = [
        [f"{draft.name}, K = {max(draft.best.gamma, 1)}", *(number(100 * part / whole, 0) + " %"
                                                           for part in draft.best.seconds)]
        for draft in drafts
        if draft.best is not None and (whole := sum(draft.best.seconds)) > 0
    ]  # fmt: skip
    heading = "Where the time of a block goes"
    return [Table(heading, ["", "draft", "verify", "other"], cells)] if cells else []


def setup(draft: Named, *, several: bool) -> list[tuple[str, str]]:
    """Returns names and values of a draft's setup; several: whether names need the draft's."""
    known, prefix = draft.profile.setup, f"{draft.name}: " * several
    values = {
        "target": known.target, "draft": known.draft, "device": known.device,
        "threads": known.threads, "dtype": known.dtype, "platform": known.software.platform,
        "Python": known.software.python,
        "libraries": ", ".join(" ".join(library) for library in known.software.libraries.items()),
        "sampling": ", ".join(f"{name} {value}" for name, value in known.sampling.items()),
        "draft temperature": known.draft_temperature, "prompts": draft.profile.alpha.prompts,
        "tokens": draft.profile.alpha.tokens, "prompts' hash": known.texts.prompts_hash,
        "new tokens, at most": known.texts.max_new_tokens,
        "timings of each run": draft.profile.clock.repeats, "seed": known.texts.seed,
        "date": known.date, "engine": known.engine, "engine version": known.engine_version,
        "command": known.software.command,
    }  # fmt: skip
    return [
        (prefix + name, str(value)) for name, value in values.items() if value not in (None, "")
    ]
