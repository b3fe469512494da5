"""The search: predict, run, learn, until no further run is worth its time."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import product
from math import hypot, log

from msgspec.structs import replace

from engines.tuning.advised import Advised
from engines.tuning.bench import Bench, NotObeyedError
from engines.tuning.outlook import Costs, Outlook, with_threshold
from engines.tuning.tuned import OF_ZERO, SPECULATING, Tuned, TunedRun, read_tuned
from estimator.prompts.prompts import prompts_hash
from estimator.writing import write_json
from simulator.cost.fitted.contradictions import contradictions
from simulator.cost.fitted.runs import LoadPoint

# Called with the outlook, and the completed run; None: no run yet; a sentence: how long the search
# takes, before the first run.
Shown = Callable[[Outlook, TunedRun | str | None], object]
# Runs end once their times have this relative error (the advice tolerates as much), or once the new
# γ is slower than the fastest γ by this many standard errors.
EXACT, CLEARLY = 0.01, 4.0


class Search:
    """A search for the best γ, which continues from the runs in its file."""

    def __init__(
        self,
        bench: Bench,
        setup: Mapping[str, str | int | float],
        draft: str,
        shown: Shown,
        costs: Costs | None = None,
    ) -> None:
        """Reads the file with the runs of earlier calls; refuses a file with another setup.

        setup: settings that all runs must share, in addition to prompts and sampling.
        draft: name of the draft, for the server's flags.
        shown: called with each forecast and each run. costs: see `Outlook`.
        """
        self.bench, self.how, self._draft, self._shown = bench, bench.how, draft, shown
        self._costs = costs
        # A run is followed by several questions about the same runs.
        forecast = partial(Outlook, worth=self.how.worth / 100, costs=costs)
        self._outlook = lru_cache(maxsize=16)(forecast)
        how, lengths = self.how, [len(prompt) for prompt in bench.prompts]
        if max(how.concurrencies) > len(lengths):
            raise ValueError(
                f"concurrency must be at most the number of prompts, {len(lengths)} here, got "
                f"{max(how.concurrencies)}"
            )
        of_search = {"temperature": how.temperature, "max_new_tokens": how.text.max_new_tokens}
        self.tuned = Tuned(
            setup={**setup, **of_search, "seed": how.seed, "prompts": prompts_hash(bench.prompts)},
            context=round(sum(lengths) / len(lengths) + how.text.max_new_tokens / 2),
            together=bench.together,
            notes=(OF_ZERO,) if setup.get("zero") == SPECULATING else (),
        )
        self._end = time.monotonic() + how.timing.seconds("")
        if how.output is not None and how.output.is_file() and how.output.stat().st_size > 0:
            kept = read_tuned(how.output)
            for name, value in self.tuned.setup.items():
                if kept.setup.get(name) != value:
                    raise ValueError(
                        f"{how.output} must be a tuning of the same setting to go on with, got "
                        f"{name} {kept.setup.get(name)} there and {value} here: name another file"
                    )
            if any(turn[0] != row.gamma for row in kept.rows for turn in row.turns):
                raise ValueError(f"{how.output} must have the turns of a gamma in its own run")
            self.tuned = kept

    def run(self) -> Tuned:
        """Measures until no further run is worth its time; writes each run. Returns the tuning."""
        every = self.how.concurrencies
        left = [concurrency for concurrency in every if self._wanted(concurrency) is not None]
        if left:
            now, texts = self.outlook(left[0]), self._texts(left)
            self.bench.paced = lambda *knobs: self._shown(now, self.bench.duration(texts, *knobs))
        for group in [(concurrency,) for concurrency in every] if self.bench.together else [every]:
            self._search(group)
        return self.tuned

    def outlook(self, concurrency: int) -> Outlook:
        taken = [row.most_gamma for row in self.tuned.rows if row.most_gamma is not None]
        return self._outlook(
            tuple(run for run in self.tuned.runs() if run.gamma not in self.bench.kind.off_line),
            LoadPoint(self.tuned.context, concurrency),
            longest=max(1, min([self.how.max_gamma, *taken])),
        )

    def expected(self) -> Tuned:
        """Measures nothing; returns the tuning with forecasts of the next run and the best γ."""
        rows, advised, text_seconds = [*self.tuned.rows], [], None
        for concurrency in self.how.concurrencies:
            now = self.outlook(concurrency)
            self._shown(now, None)
            for gamma in (None if self.tuned.at(concurrency) else 0, now.next_gamma):
                if gamma is not None:
                    row = TunedRun(concurrency=concurrency, gamma=gamma, measured=False)
                    rows.append(self._with_expected(row, now))
            advised.append(now.advised(now.advice.named, None))
            if text_seconds is None and self._priced(concurrency):
                text_seconds = now.milliseconds(0)[0] / 1e3 * self.how.text.max_new_tokens
        notes = (self.bench.duration(self._texts(self.how.concurrencies), 0.0, text_seconds),)
        return replace(self.tuned, rows=tuple(rows), advised=tuple(advised), notes=notes)

    def _texts(self, concurrencies: Sequence[int]) -> float:
        return sum(len(self.bench.prompts) / concurrency for concurrency in concurrencies)

    def _priced(self, concurrency: int) -> bool:
        """Returns whether times can be forecast, from runs or from `costs`."""
        return self._costs is not None or any(row.measured for row in self.tuned.at(concurrency))

    def _with_expected(self, row: TunedRun, before: Outlook) -> TunedRun:
        if not self._priced(row.concurrency) or row.gamma > before.longest:
            return row
        names = (f"expected_ms_per_token{end}" for end in ("", "_low", "_high"))
        return replace(row, **dict(zip(names, before.milliseconds(row.gamma), strict=True)))

    def add(self, row: TunedRun, before: Outlook | None = None) -> None:
        """Adds a run to the tuning and its file; before: outlook before the run; None: current."""
        if row.measured:
            row = self._with_expected(row, before or self.outlook(row.concurrency))
        self.tuned = self.tuned.adding(row)
        self._advise()
        self._shown(self.outlook(row.concurrency), self.tuned.rows[-1])

    @property
    def next_turn(self) -> int:
        return 1 + max((turn[1] for row in self.tuned.rows for turn in row.turns), default=-1)

    def _search(self, concurrencies: tuple[int, ...]) -> None:
        """Searches for the best γ at several concurrencies; each server serves all of them."""
        ran = False
        for concurrency in concurrencies:
            if not any(row.gamma for row in self.tuned.at(concurrency)):
                self._shown(self.outlook(concurrency), None)
        while wanted := {
            concurrency: gamma
            for concurrency in concurrencies
            if (gamma := self._wanted(concurrency)) is not None
        }:
            if not self.bench.together and not ran:
                self._measure(concurrencies, 0)
            ran = True
            self._try(next(iter(wanted.values())), tuple(wanted))
        if ran and not self.bench.together:
            self._measure(concurrencies, 0)
            notes = [note for note in map(self.tuned.drift, concurrencies) if note]
            self.tuned = replace(self.tuned, notes=(*self.tuned.notes, *notes))
        self._advise()
        for concurrency in concurrencies if self.how.p_mins else ():
            self._try_thresholds(concurrency)

    def _wanted(self, concurrency: int) -> int | None:
        rows = [row for row in self.tuned.at(concurrency) if row.gamma > 0]
        late = time.monotonic() > self._end and any(row.measured for row in rows)
        if late or len(rows) >= self.how.max_runs:
            return None
        wanted, ran = self.outlook(concurrency).next_gamma, {row.gamma for row in rows}
        # Forecasts are of the line, on which these γ are not.
        while wanted is not None and wanted in self.bench.kind.off_line:
            wanted = None if wanted + 1 in ran or wanted == self.how.max_gamma else wanted + 1
        return wanted

    def _measure(self, concurrencies: tuple[int, ...], *gammas: int) -> None:
        knobs, before = [(gamma, 0.0) for gamma in gammas], None
        for row in self.bench.measure(knobs, concurrencies, self.next_turn, self._exact):
            if self.tuned.repeated(row) is not None:
                before = self.outlook(row.concurrency)
                self.tuned = self.tuned.adding(row)
            else:
                self.add(row, before)

    def _exact(self, runs: Sequence[TunedRun]) -> bool:
        """Returns whether the runs are so exact that further turns would not change a decision."""
        tuned = self.tuned
        for run in runs:
            tuned = tuned.adding(run)
        rows = {row.knobs: row for row in tuned.rows if row.concurrency == runs[0].concurrency}
        rows_of_runs = [rows[run.knobs] for run in runs]
        errors = [(row.error_percent or 0.0) / 100 for row in rows_of_runs]
        if any(row.p_min for row in rows_of_runs):
            return max(errors) <= EXACT
        times, error = [log(row.ms_per_token or 1.0) for row in rows_of_runs], hypot(*errors)
        return error <= EXACT or times[-1] - times[0] > CLEARLY * error

    def _try(self, gamma: int, concurrencies: tuple[int, ...]) -> None:
        """Measures a γ; if servers run together, in turns with the fastest γ so far."""
        rows = self.tuned.at(concurrencies[0])
        timed = [(row.ms_per_token, row.gamma) for row in rows if row.ms_per_token is not None]
        reference = [min(timed, default=(0.0, 0))[1]] if self.bench.together else []
        try:
            self._measure(concurrencies, *reference, gamma)
        except NotObeyedError as error:
            message, drafted = error.args
            if gamma == 1:
                raise ValueError(message) from error
            most = drafted if 0 < drafted < gamma else gamma // 2
            failed = {"gamma": gamma, "measured": False, "most_gamma": most, "note": message}
            for concurrency in concurrencies:
                self.add(TunedRun(concurrency=concurrency, **failed))

    def _try_thresholds(self, concurrency: int) -> None:
        """Measures thresholds at the advised γ and at twice this γ, in turns with the plain γ."""
        now, count = self.outlook(concurrency), len(self.tuned.rows)
        gamma = now.advice.gamma
        ran = {row.knobs for row in self.tuned.rows if row.concurrency == concurrency}
        lengths = dict.fromkeys((gamma, min(2 * gamma, self.how.max_gamma)))
        wanted = [pair for pair in product(lengths, self.how.p_mins) if pair not in ran]
        if gamma == 0 or not wanted:
            return
        knobs = [(gamma, 0.0), *wanted]
        for row in self.bench.measure(knobs, (concurrency,), self.next_turn, self._exact):
            self.tuned = self.tuned.adding(row)
        self._advise()
        for row in self.tuned.rows[count:]:
            self._shown(now, row)

    def _advise(self) -> None:
        advised, following = list[Advised](), None
        for concurrency in self.how.concurrencies:
            now = self.outlook(concurrency)
            following = now.next_gamma if following is None else following
            times = {row.gamma: row.ms_per_token for row in self.tuned.at(concurrency)}
            if max(times, default=0) > 0:
                apart = now.advice.gamma in self.bench.kind.off_line
                gamma = now.best_run if apart else now.advice.gamma
                barred = self.bench.kind.off_line
                advised_here = now.advised(gamma, times.get(gamma), barred=barred)
                advised.append(with_threshold(self.tuned, advised_here))
        flags = self.bench.flags(advised, self._draft)
        self.tuned = replace(
            self.tuned,
            advised=tuple(advised),
            next_gamma=following,
            flags=flags,
            conflicts=contradictions(self.tuned.runs()),
        )
        if self.how.output is not None:
            write_json(self.tuned, self.how.output)
