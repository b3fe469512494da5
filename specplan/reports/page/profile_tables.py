"""The tables of measured drafts: their ranking, kinds of prompts, parts of a block, and setup."""

from collections.abc import Sequence

from estimator.profiles.parts import Alpha, Estimate
from specplan.reports.page.inputs import Named
from specplan.reports.page.pictures import Table, between, number
from specplan.reports.table import ranged


def _estimate(found: Alpha | Estimate | None, digits: int = 3) -> str:
    return "-" if found is None else ranged(found.value, found.low, found.high, f",.{digits}f")


def ranking(drafts: Sequence[Named]) -> Table:
    """Returns the drafts with their speed-ups, the best first."""
    cells = []
    for draft in drafts:
        best, profile = draft.best, draft.profile
        gain = "-"
        if best is not None:
            gain = number(best.gain.replay)
            gain += between(best.gain.low, best.gain.high) * (best.gamma > 0)
        quiet = {True: "yes", False: "NO", None: "-"}[profile.clock.quiet]
        cells.append([
            draft.name, gain, "-" if best is None else str(best.gamma or "none"),
            _estimate(profile.alpha), _estimate(profile.c), str(profile.draft_sampling), quiet,
        ])  # fmt: skip
    columns = ["draft", "speed-up", "K", "α", "c", "drafts", "quiet"]
    return Table("Drafts, the best first", columns, cells, 0)


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
                    str(each.alpha.prompts),
                    _estimate(each.alpha),
                    _estimate(each.tokens_per_call[gamma], 2),
                    _estimate(each.improvement_factor[gamma], 2),
                    str(each.optimal_gamma or "none"),
                ]
                for name, each in workloads.items()
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
    found, prefix = draft.profile.setup, f"{draft.name}: " * several
    values = {
        "target": found.target, "draft": found.draft, "device": found.device,
        "threads": found.threads, "dtype": found.dtype, "platform": found.software.platform,
        "Python": found.software.python,
        "libraries": ", ".join(" ".join(each) for each in found.software.libraries.items()),
        "sampling": ", ".join(f"{name} {value}" for name, value in found.sampling.items()),
        "draft temperature": found.draft_temperature, "prompts": draft.profile.alpha.prompts,
        "tokens": draft.profile.alpha.tokens, "prompts' hash": found.texts.prompts_hash,
        "new tokens, at most": found.texts.max_new_tokens,
        "timings of each run": draft.profile.clock.repeats, "seed": found.texts.seed,
        "date": found.date, "engine": found.engine, "engine version": found.engine_version,
        "command": found.software.command,
    }  # fmt: skip
    return [
        (prefix + name, str(value)) for name, value in values.items() if value not in (None, "")
    ]
