"""The section of a tuning: the path of runs, each expected and measured, and the advice."""

from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import groupby

from msgspec import convert

from engines.tuning.tuned import Tuned, TunedRun
from simulator.choice.odds import percentage
from simulator.numerics.intervals import percent
from specplan.reports.page.inputs import Document
from specplan.reports.page.pictures import Chart, Section, Series, Table, number, series
from specplan.reports.table import interval
from specplan.reports.tuning import knobs, sentence, sureness

_ADVICE = (
    "requests at once", "K", "speed-up", "odds of a gain", "ms per token",
    "odds to be faster than K",
)  # fmt: skip
# Names of settings whose own do not say what they are of.
_INPUTS = {
    "flags": "flags of every run",
    "max_new_tokens": "tokens of a text",
    "prompts": "the prompts (their hash)",
}
_THREADS = ("threads", "as --threads or OMP_NUM_THREADS state, else the free cores less 1")
_FITTED = "Intervals: {}. Speed-ups are fitted to all runs, not ratios of two times."
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
    engine = _engine(tuned.setup)
    return Section(
        kind="Tuned on this machine",
        about=_about(tuned.setup, document.file),
        headline=sentence(tuned),
        sure=[*sureness(tuned), _FITTED.format(percent(tuned.confidence))],
        charts=[
            _path(at, group, several=several, level=percent(tuned.confidence))
            for at, group in groups
        ],
        tables=[_advice(tuned), _runs(runs)],
        flags={engine: tuned.flags} if tuned.flags else {},
        inputs=_inputs({**tuned.setup, "engine": engine}),
        command=document.command,
        basis=_basis(tuned),
        notes=[_MEDIAN, *tuned.conflicts, *tuned.notes],
    )


def _inputs(setup: Mapping[str, object]) -> list[tuple[str, str]]:
    """Returns names and values of the settings that all runs share."""
    pairs = [(_INPUTS.get(name, name), str(value)) for name, value in setup.items()]
    threads = [_THREADS] * str(setup.get("flags", "")).startswith("threads=")
    return [*pairs, *threads]


def _basis(tuned: Tuned) -> str:
    """Returns the number of the runs, their machine, and the day."""
    machine, began = tuned.setup.get("machine"), [run.began for run in tuned.rows if run.began > 0]
    ends = {min(began), max(began)} if began else set()
    days = dict.fromkeys(str(datetime.fromtimestamp(time, UTC).date()) for time in sorted(ends))
    where = [f"on {machine}"] * (machine is not None) + [" to ".join(days)] * bool(days)
    runs = sum(run.measured for run in tuned.rows)
    return f"Rests on {', '.join([f'{runs} run' + 's' * (runs != 1), *where])}."


def tuned_of(document: Document) -> Tuned:
    return convert(document.data, Tuned, str_keys=True)


def _engine(setup: Mapping[str, object]) -> str:
    engine = str(setup.get("engine") or "server")
    return "specplan's own decoder" if engine == "own" else engine


def _about(setup: Mapping[str, object], file: str) -> str:
    names = [f"{setup[name]}" if setup.get(name) else None for name in ("target", "draft")]
    engine = _engine(setup)
    return ", ".join(filter(None, [" drafted by ".join(filter(None, names)), engine, file]))


def _path(concurrency: int, runs: list[TunedRun], *, several: bool, level: str) -> Chart:
    """Returns the runs in their order: the forecast with its interval, and what came.

    level: confidence of the intervals, as text.
    """
    lines: list[Series] = [
        *series("expected before the run", 1, (
            (at, run.expected_ms_per_token, run.expected_ms_per_token_low,
             run.expected_ms_per_token_high)
            for at, run in enumerate(runs)
        ), "dots"),
        *series("measured", 0, ((at, run.ms_per_token) for at, run in enumerate(runs)), "dots"),
    ]  # fmt: skip
    names = [f"{at}: K = {knobs(run)}" for at, run in enumerate(runs, 1)]
    title = f"Runs{f' at {concurrency} at once,' * several} in their order"
    reading = (
        "Left of each pair: the time that was expected before the run, from the runs before it; "
        f"its vertical line is the {level} interval. Right: the time that the run took. "
        "Nothing was expected of a first run."
    )
    return Chart(
        f"path-{concurrency}", title, reading, "run", "milliseconds a token", lines,
        categories=names,
    )  # fmt: skip


def _advice(tuned: Tuned) -> Table:
    cells = [
        [str(best.concurrency), knobs(best) if best.gamma else "none",
         interval(best, "improvement_factor") if best.gamma else number(best.improvement_factor),
         percentage(best.gain_probability), number(best.ms_per_token),
         ", ".join(f"{gamma or 'none'}: {percentage(odds)}"
                   for gamma, odds in best.faster_than.items()) or "-"]
        for best in tuned.advised
    ]  # fmt: skip
    return Table("Advice", _ADVICE, cells)


def _runs(runs: list[TunedRun]) -> Table:
    cells = [
        [str(run.concurrency), knobs(run) if run.gamma else "none",
         interval(run, "expected_ms_per_token"), run.note or number(run.ms_per_token),
         number(run.error_percent, 1), number(run.block_efficiency)]
        for run in runs
    ]  # fmt: skip
    heads = ["requests at once", "K", "expected ms per token", "measured", "standard error, %",
             "tokens per call"]  # fmt: skip
    return Table("Runs", heads, cells)
