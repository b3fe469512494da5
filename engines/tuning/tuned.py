"""A tuning's file: the runs, their times, their forecasts, and the advice.

γ that took turns are compared turn by turn, which removes the machine's changing speed
(`estimator.timing.precision`). If servers ran one after another, the baseline ran first and last,
and a steady change of speed between both is divided out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from engines.tuning.advised import Advised
from estimator.profiles.parts import Level
from estimator.timing.precision import polish
from reference.files import read_json
from simulator.cost.fitted.runs import USUAL_ERROR, LoadPoint, Run
from simulator.numerics.intervals import CONFIDENCE

FORMAT = "specplan tune 1"
# `setup["zero"]` where K = 0 ran on a server that has a draft and drafts nothing.
SPECULATING = "speculating"
OF_ZERO = (
    "gamma 0 ran on this server, which has its draft and drafts nothing. One that is started "
    "without a draft may be faster: run that, too, before you call gamma 0 the baseline."
)
# The standard error of a median over a mean's, for normal noise; and the least relative error.
MEDIAN, LEAST_ERROR = 1.2533, 0.003
# A larger change of the baseline's time is reported.
DRIFT = 0.02
Array = NDArray[np.float64]
# A γ, and the threshold below which its drafts end (0: none).
Knobs = tuple[int, float]


class TunedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of one γ at one concurrency.

    p_min: confidence below which a draft ends; 0: drafts have γ tokens.
    ms_per_token: milliseconds per token of a request, at the machine's median speed.
    error_percent: standard error of ms_per_token for comparisons with other runs, in per cent.
    rates: share of all drafts that accept each position, by the server; empty if not counted.
    expected_ms_per_token: forecast before the run, with its interval.
    measured: whether the run finished and drafted γ tokens per block; if not, `note` says why.
    began: start of the run in seconds since 1970.
    turns: by turn: γ, number of the turn, seconds, target passes and decoded tokens.
    most_gamma: if the server rejected γ, the largest γ that is still tried; else None.
    """

    concurrency: int
    gamma: int
    p_min: float = 0.0
    ms_per_token: float | None = None
    error_percent: float | None = None
    block_efficiency: float | None = None
    rates: tuple[float, ...] = ()
    drafts: int = 0
    expected_ms_per_token: float | None = None
    expected_ms_per_token_low: float | None = None
    expected_ms_per_token_high: float | None = None
    measured: bool = True
    began: float = 0.0
    turns: tuple[tuple[int, int, float, int, int], ...] = ()
    most_gamma: int | None = None
    note: str = ""

    @property
    def knobs(self) -> Knobs:
        return self.gamma, self.p_min

    @property
    def rates_in_texts(self) -> tuple[float, ...]:
        """`rates`, scaled to the tokens of the texts: some servers count tokens past their end."""
        tokens = self.block_efficiency if any(self.rates) else None
        scale = 1.0 if tokens is None else (tokens - 1) / sum(self.rates)
        return tuple(min(scale * rate, 1.0) for rate in self.rates)

    @property
    def sampled_error(self) -> float:
        """Relative standard error of tokens per target pass, with texts that are sampled."""
        work = np.array([turn[3:] for turn in self.turns])
        passes, tokens = work.sum(axis=0)
        apart = work[:, 0] - passes / tokens * work[:, 1]
        return float(np.sqrt((apart**2).sum()) / passes)

    @property
    def step_logs(self) -> Array:
        """Logarithm of the mean seconds per target pass in each turn, shape (turns,)."""
        return np.log([seconds / passes for _, _, seconds, passes, _ in self.turns])


class Tuned(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a search for the best γ, and its advice.

    setup: settings that all runs share: engine, models, prompts, sampling, machine.
    context: mean number of tokens in a request's cache.
    together: whether the servers of all γ ran at once, so that the γ took turns.
    next_gamma: the γ to run next; None if the search is finished.
    flags: the server's flags that set the advised γ.
    command: the command that started the search; None: not recorded.
    conflicts: sentences on runs that contradict physics or each other.
    """

    setup: dict[str, str | int | float]
    context: int
    together: bool
    rows: tuple[TunedRun, ...] = ()
    advised: tuple[Advised, ...] = ()
    next_gamma: int | None = None
    flags: str = ""
    command: str | None = None
    conflicts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    format: str = FORMAT
    confidence: Level = CONFIDENCE

    def at(self, concurrency: int) -> tuple[TunedRun, ...]:
        """Returns the runs at a concurrency without a confidence threshold (p_min = 0)."""
        return tuple(row for row in self.rows if row.concurrency == concurrency and row.p_min == 0)

    def repeated(self, row: TunedRun) -> TunedRun | None:
        """Returns the earlier run with a run's γ, threshold and concurrency, if γ take turns."""
        every = (kept for kept in self.rows if kept.measured and self.together)
        alike = (kept for kept in every if kept.knobs == row.knobs)
        return next((kept for kept in alike if kept.concurrency == row.concurrency), None)

    def adding(self, row: TunedRun) -> Tuned:
        """Returns the tuning with a new run, or new turns of a run; recomputes the runs' times."""
        earlier = self.repeated(row)
        rows = [other for other in self.rows if other.concurrency == row.concurrency]
        others = [other for other in self.rows if other.concurrency != row.concurrency]
        if earlier is None:
            rows.append(row)
        else:
            rows[rows.index(earlier)] = replace(earlier, turns=earlier.turns + row.turns)
        timed = (_in_turns if self.together else _one_by_one)(rows, self._drawn)
        return replace(self, rows=(*others, *timed))

    @property
    def _drawn(self) -> bool:
        """Whether texts are sampled, so that two γ decode different texts."""
        return float(self.setup["temperature"]) > 0

    def drift(self, concurrency: int) -> str:
        """Returns a sentence if the baseline's time rose or fell by more than DRIFT; "" if not."""
        plain = [row for row in self.at(concurrency) if row.gamma == 0 and row.turns]
        first, last = (float(np.median(np.exp(plain[at].step_logs))) for at in (0, -1))
        share = last / first - 1
        text = f"At {concurrency} at once the baseline's token took {100 * share:+.1f} %"
        return f"{text} at the end; that drift is divided out." if abs(share) > DRIFT else ""

    def runs(self) -> tuple[Run, ...]:
        """Returns the measured runs without a threshold, from which costs are estimated."""
        return tuple(
            Run(
                LoadPoint(self.context, row.concurrency),
                row.ms_per_token / 1e3,
                row.gamma,
                1.0 if row.block_efficiency is None else row.block_efficiency,
                USUAL_ERROR if row.error_percent is None else row.error_percent / 100,
                row.rates_in_texts,
                row.drafts or None,
                speculating=row.gamma == 0 and self.setup.get("zero") == SPECULATING,
                length_error=row.sampled_error if self._drawn and row.gamma and row.turns else 0.0,
            )
            for row in self.rows
            if row.measured and row.ms_per_token is not None and row.p_min == 0
        )


def read_tuned(path: Path) -> Tuned:
    """Returns the tuning in a file; refuses a file that holds none."""
    document = read_json(path)
    if isinstance(document, dict) and "draftings" in document:
        raise ValueError(f"{path} must be a file of specplan tune, got a profile: use `profile`")
    try:
        tuned = msgspec.convert(document, Tuned, str_keys=True)
    except msgspec.ValidationError as error:
        raise ValueError(
            f"{path} must be a file of specplan tune (a bench's result: file={path}), got: {error}"
        ) from None
    if tuned.format != FORMAT:
        raise ValueError(f"{path} must have the format {FORMAT!r}, got {tuned.format!r}")
    return tuned


def _in_turns(rows: Sequence[TunedRun], drawn: bool) -> list[TunedRun]:
    """Returns runs whose γ took turns, with their times at the median speed of the machine."""
    ran = [row for row in rows if row.turns]
    if not ran:
        return list(rows)
    turns = sorted({turn for row in ran for _, turn, *_ in row.turns})
    seconds = np.full((len(ran), len(turns)), np.nan)
    for of_run, row in zip(seconds, ran, strict=True):
        of_run[np.searchsorted(turns, [turn[1] for turn in row.turns])] = np.exp(row.step_logs)
    steps, _ = polish(seconds)
    left = np.log(seconds) - np.log(steps)[:, None]
    # The speed of a turn is estimated from its other γ.
    totals, known = np.nansum(left, axis=0), (~np.isnan(left)).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        off = left - (totals - left) / (known - 1)
    timed = (
        _timed(row, float(step), of_run[np.isfinite(of_run)], drawn)
        for row, step, of_run in zip(ran, steps, off, strict=True)
    )
    return [next(timed) if row.turns else row for row in rows]


def _one_by_one(rows: Sequence[TunedRun], drawn: bool) -> list[TunedRun]:
    """Returns runs made one after another; the drift of the baseline's time is divided out."""
    baselines = [row for row in rows if row.turns and row.gamma == 0]
    plain = sorted((row.began, float(np.median(row.step_logs))) for row in baselines)
    times, speeds = zip(*plain, strict=True) if plain else ((0.0,), (0.0,))

    def timed(row: TunedRun) -> TunedRun:
        drift = float(np.interp(row.began, times, speeds)) - speeds[0]
        return _timed(row, float(np.exp(np.median(row.step_logs) - drift)), row.step_logs, drawn)

    return [timed(row) if row.turns else row for row in rows]


def _timed(row: TunedRun, step_seconds: float, logs: Array, drawn: bool) -> TunedRun:
    """Returns a run with its times.

    step_seconds: median seconds of a target pass with its draft.
    logs: logarithms of these seconds, or their deviations, by turn; only their spread is used.
    drawn: see `Tuned._drawn`.
    """
    error = USUAL_ERROR
    if len(logs) >= 3:
        error = max(LEAST_ERROR, float(MEDIAN * np.std(logs, ddof=1) / np.sqrt(len(logs))))
    sampled = row.sampled_error if drawn and row.gamma > 0 else 0.0
    passes, tokens = np.sum([turn[3:] for turn in row.turns], axis=0)
    return replace(
        row,
        ms_per_token=float(1e3 * step_seconds * passes / tokens),
        error_percent=float(100 * np.hypot(error, sampled)),
        block_efficiency=float(tokens / passes),
    )
