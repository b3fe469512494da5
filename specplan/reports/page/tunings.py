"""The section of a tuning: the path of runs, each expected and measured, and the advice."""

from collections.abc import Mapping
from itertools import groupby

from msgspec import convert

from engines.tuning.tuned import Advised, Tuned, TunedRun
from simulator.choice.advice import certainty, percentage
from simulator.numerics.intervals import percent
from specplan.reports.page.inputs import Document
from specplan.reports.page.pictures import (
    Chart,
    Section,
    Series,
    Table,
    between,
    chance,
    number,
    series,
)

_MEDIAN = (
    "Measured times are at the median speed of the machine over all runs. A run after which the "
    "machine slowed down looks too slow."
)


def tuning_section(document: Document) -> Section:
    """Returns the section of the JSON of `specplan tune`."""
    tuned = tuned_of(document)
    runs = sorted(tuned.rows, key=lambda run: run.concurrency)
    groups = [(at, list(group)) for at, group in groupby(runs, lambda run: run.concurrency)]
    several = len(tuned.advised) > 1
    where = [f"{best.concurrency} at once: " * several for best in tuned.advised]
    advised = [at + _draft(best) for at, best in zip(where, tuned.advised, strict=True)]
    sure = [f"Intervals: {percent(tuned.confidence)}."]
    for at, best in zip(where, tuned.advised, strict=True):
        if best.gain_probability is not None:
            odds, share = certainty(best.gain_probability), percentage(best.gain_probability)
            words = f"{'A gain is ' * (odds != 'a loss is likelier')}{odds} ({share} % for a gain)."
            sure.append(f"{at}{words[0].upper()}{words[1:]}")
    if tuned.next_gamma is not None:
        sure.append(f"Not decided: K = {tuned.next_gamma} is worth a run.")
    return Section(
        kind="Tuned on this machine",
        about=_about(tuned.setup, document.file),
        headline=f"{'; '.join(advised)}." if advised else "No run has finished.",
        sure=sure,
        charts=[_path(at, group, several=several) for at, group in groups],
        tables=[_advice(tuned), _runs(runs)],
        flags={"server": tuned.flags} if tuned.flags else {},
        inputs=[(name, str(value)) for name, value in tuned.setup.items()],
        command=document.command,
        notes=[_MEDIAN, *tuned.conflicts, *tuned.notes],
    )


def _draft(best: Advised) -> str:
    if not best.gamma:
        return "Do not speculate"
    ends = between(best.improvement_factor_low, best.improvement_factor_high)
    gain = f"{best.improvement_factor:.2f}{ends} times the speed without speculation"
    return f"Draft {best.gamma} token{'s' * (best.gamma > 1)} per block (K = {best.gamma}): {gain}"


def tuned_of(document: Document) -> Tuned:
    return convert(document.data, Tuned)


def _about(setup: Mapping[str, object], file: str) -> str:
    names = [f"{setup[name]}" if setup.get(name) else None for name in ("target", "draft")]
    engine = f"engine {setup['engine']}" if setup.get("engine") else None
    return ", ".join(filter(None, [" drafted by ".join(filter(None, names)), engine, file]))


def _path(concurrency: int, runs: list[TunedRun], *, several: bool) -> Chart:
    """Returns the runs in their order: the forecast with its interval, and what came."""
    lines: list[Series] = [
        *series("expected", 1, (
            (at, run.expected_ms_per_token, run.expected_ms_per_token_low,
             run.expected_ms_per_token_high)
            for at, run in enumerate(runs)
        ), "dots"),
        *series("measured", 0, ((at, run.ms_per_token) for at, run in enumerate(runs)), "dots"),
    ]  # fmt: skip
    names = [f"{at}: {'K ' * (run.gamma > 0)}{_knobs(run)}" for at, run in enumerate(runs, 1)]
    return Chart(
        f"path-{concurrency}",
        f"Runs at {concurrency} at once, in their order" if several else "Runs in their order",
        "Milliseconds a token of each run, expected before it and measured.",
        "run",
        "milliseconds a token",
        lines,
        categories=names,
    )


def _knobs(run: TunedRun | Advised) -> str:
    return f"{run.gamma or 'none'}" + f", p_min {run.p_min:g}" * bool(run.p_min)


def _advice(tuned: Tuned) -> Table:
    cells = [
        [
            str(best.concurrency),
            _knobs(best),
            number(best.improvement_factor)
            + between(best.improvement_factor_low, best.improvement_factor_high) * bool(best.gamma),
            chance(best.gain_probability),
            number(best.ms_per_token),
        ]
        for best in tuned.advised
    ]
    return Table("Advice", ["at once", "K", "speed-up", "odds of a gain", "ms per token"], cells)


def _runs(runs: list[TunedRun]) -> Table:
    cells = [
        [
            str(run.concurrency),
            _knobs(run),
            number(run.expected_ms_per_token)
            + between(run.expected_ms_per_token_low, run.expected_ms_per_token_high),
            run.note or number(run.ms_per_token),
            number(run.error_percent, 1),
            number(run.block_efficiency),
        ]
        for run in runs
    ]
    heads = ["at once", "K", "expected ms per token", "measured", "± %", "tokens per call"]
    return Table("Runs", heads, cells)
