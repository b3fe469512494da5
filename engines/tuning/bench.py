"""Runs the servers of a tuning, and measures each γ; servers that run together take turns."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial

import numpy as np

from engines.counting import NOTHING
from engines.engine import EngineRun, EngineServer, Prompts, Setting, run
from engines.kind import Drafted, EngineKind
from engines.tuning.advised import Advised
from engines.tuning.request import Tuning
from engines.tuning.tuned import Knobs, TunedRun
from engines.turns import Runs, Write, run_in_turns
from estimator.progress import SILENT, Progress, counted
from estimator.timing.precision import Timing
from estimator.traces.traces import DraftSampling
from simulator.choice.schedule import schedule

WARM_UP_PROMPTS = 1
# Further γ that searches ran: about the mean of those in docs/tune.md.
USUAL_RUNS = 2
NO_DRAFT = "# gamma is 0: run the target without a draft"
# Serves a pair with a setting; see `engines.engine.Engine`.
Serve = Callable[[Setting], AbstractContextManager[EngineServer]]
# Called after each pass over all prompts; returns whether the runs so far are exact enough.
Enough = Callable[[Sequence[TunedRun]], bool]


class NotObeyedError(ValueError):
    """The server refuses γ, or drafts another number of tokens per block: args[1]; 0 if unknown."""


class Bench(ExitStack):
    """Measures several γ of an engine on the same prompts; stops its servers when it is closed."""

    def __init__(
        self,
        serve: Serve,
        kind: EngineKind,
        prompts: Prompts,
        how: Tuning,
        *,
        together: bool = True,
        draft_sampling: DraftSampling = "argmax",
    ) -> None:
        """Stores what to run. together: whether the servers of all γ run at once."""
        super().__init__()
        self.together, self.draft_sampling = together, draft_sampling
        self.serve, self.kind, self.prompts, self.how = serve, kind, prompts, how
        # The γ of a running server, if requests cannot change it.
        self.fixed: int | None = None
        self.progress: Progress = SILENT
        # Called once, with the seconds that the first server took to start, and a text.
        self.paced: Callable[[float, float], object] | None = None
        self._order, self._up = np.random.default_rng(how.seed), dict[Knobs, Write]()

    def measure(
        self,
        knobs: Sequence[Knobs],
        concurrencies: Sequence[int],
        first_turn: int,
        enough: Enough = lambda _: False,
    ) -> list[TunedRun]:
        """Returns a run of each γ and threshold at each concurrency.

        If servers can run together, the γ take turns. If not, each server starts once and serves
        all concurrencies. A run repeats all prompts until `enough` is true or the repeats are over.
        knobs: pairs (γ, confidence below which a draft ends). first_turn: number of the next turn.
        """
        runs: list[TunedRun] = []
        for share in [knobs] if self.together else [[knob] for knob in knobs]:
            with ExitStack() as stack:
                for unstarted in share:
                    if unstarted not in self._up:
                        self._start(unstarted, self if self.together else stack)
                for concurrency in concurrencies:
                    runs += self._measured(share, concurrency, first_turn, enough)
                    first_turn += self.how.timing.repeats * len(self.prompts)
            if not self.together:
                self._up.clear()
        return runs

    def duration(self, per_pass: float, start_seconds: float, text_seconds: float | None) -> str:
        """Returns how long a search takes, in words.

        per_pass: number of texts in one pass over all prompts at every concurrency; texts that are
          decoded at the same time count as one.
        start_seconds: seconds to start a server. text_seconds: seconds per text; None: unknown.
        """
        how, needed = self.how, []
        usual = (min(USUAL_RUNS, how.max_runs), (1 + how.timing.repeats) / 2)
        for runs, passes in (usual, (how.max_runs, how.timing.repeats)):
            # If γ take turns, each run times a new γ and the fastest γ so far.
            arms = (2 * runs if self.together else runs + 2) + 3 * len(how.p_mins)
            needed.append((runs + 2, arms * passes * per_pass))
        (starts, texts), (_, most) = needed
        restarts = "" if self.together else f" and {starts} starts of a server"
        sentence = f"{texts:.0f} texts of {how.text.max_new_tokens} tokens{restarts}"
        if text_seconds is None:
            return f"A search usually decodes {sentence}, and at most {most:.0f} texts."
        seconds = [starts * start_seconds + texts * text_seconds for starts, texts in needed]
        about, longest = (f"{s:.2g} s" if s < 99 else f"{s / 60:.0f} min" for s in seconds)
        return f"This takes about {about} ({sentence}), at most {longest}."

    def flags(self, advised: Sequence[Advised], draft: str) -> str:
        """Returns the server's flags that set γ for each concurrency; "" if no flags are known."""
        exports = self.kind.exports
        drafted = Drafted(draft, sampling=self.draft_sampling)
        different = len({(advice.gamma, advice.p_min) for advice in advised})
        if exports is None or not advised:
            return ""
        if exports.schedule is not None and different > 1:
            gammas = {advice.concurrency: advice.gamma for advice in advised}
            return exports.schedule(schedule(gammas), drafted)
        lines = []
        for row in advised:
            fixed = row.gamma > 0
            line = exports.fixed(row.gamma, drafted, None, row.p_min) if fixed else NO_DRAFT
            lines.append(line if different == 1 else f"# {row.concurrency} at once:\n{line}")
        return lines[0] if different == 1 else "\n".join(lines)

    def _start(self, knobs: Knobs, stack: ExitStack) -> None:
        how, (gamma, p_min), began = self.how, knobs, time.monotonic()
        rates, most = how.synthetic[:gamma] if how.synthetic and gamma else None, how.concurrencies
        setting = Setting(gamma, self.draft_sampling, max(most), synthetic=rates, p_min=p_min)
        try:
            server = stack.enter_context(self.serve(setting))
        except ValueError as error:
            if gamma == 0:
                raise
            raise NotObeyedError(f"gamma {gamma} was refused: {error}", 0) from error
        write = partial(run, server, speculative=gamma > 0, max_new_tokens=how.text.max_new_tokens)
        up, warm = time.monotonic(), self.prompts[:WARM_UP_PROMPTS]
        self.progress.expect(len(warm))
        warmed = write(warm, (how.temperature, 1), how.seed, progress=self.progress.step)
        if p_min == 0 and not warmed.obeys(gamma, drafts_past_end=self.kind.drafts_past_end):
            mean = warmed.total.mean_drafted
            message = f"gamma {gamma} was not obeyed: the server drafts {mean:.1f} tokens a block"
            raise NotObeyedError(message, round(mean))
        self._up[knobs] = write
        if self.paced is not None:
            self.paced(up - began, (time.monotonic() - up) / len(warm))
            self.paced = None

    def _measured(
        self, share: Sequence[Knobs], concurrency: int, turn: int, enough: Enough
    ) -> list[TunedRun]:
        how, case, began = self.how, (self.how.temperature, concurrency), time.time()

        def tuned(runs: Runs[Knobs]) -> list[TunedRun]:
            return [
                self._tuned(knobs, concurrency, began, turn, runs[case][knobs]) for knobs in share
            ]

        texts = how.timing.repeats * len(share) * len(self.prompts)
        self.progress.expect(texts)
        with counted(self.progress, texts) as step:
            # Later turns have other seeds.
            timing = Timing(how.timing.repeats, how.seed + turn * len(self.prompts), step)
            arms = {knobs: (self._up[knobs], self.prompts) for knobs in share}
            runs = run_in_turns(
                arms, [case], timing, order=self._order, exact=lambda runs: enough(tuned(runs))
            )
        return tuned(runs)

    def _tuned(
        self, knobs: Knobs, concurrency: int, began: float, turn: int, runs: Sequence[EngineRun]
    ) -> TunedRun:
        """Returns the record of the runs of all repeats; turn: number of the first turn."""
        (gamma, p_min), past_end = knobs, self.kind.drafts_past_end
        parts = [part for run in runs for part in run.parts]
        total = sum((run.total for run in runs), NOTHING)
        ignored = p_min > 0 and self.kind.acceptance == "counts"
        ignored = ignored and all(part.obeys(gamma, drafts_past_end=past_end) for part in parts)
        rates = [hits / total.drafts for hits in total.up_to(gamma)] if total.by_position else []
        works = [work for run in runs for work in run.work(drafts_past_end=past_end)]
        return TunedRun(
            concurrency=concurrency,
            gamma=gamma,
            p_min=p_min,
            began=began,
            measured=not ignored,
            note=f"p_min was ignored: every draft has {gamma} tokens" if ignored else "",
            turns=tuple((gamma, at, *work) for at, work in enumerate(works, turn) if work[1] > 0),
            rates=tuple(rates) if p_min == 0 else (),
            # Greedy decoding repeats itself.
            drafts=total.drafts // (len(runs) if self.how.temperature == 0 else 1),
        )
