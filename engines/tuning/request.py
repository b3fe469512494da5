"""Requests for a tuning; each field is named like its option."""

from dataclasses import dataclass, field
from pathlib import Path

from engines.kind import listed, names_of
from engines.trials.request import OnEngine
from estimator.settings import ModelSettings, PromptSettings, SamplingSettings, TimingSettings
from estimator.traces.traces import DraftSampling

# Further γ that searches ran: about the mean of those in docs/tune.md.
USUAL_RUNS = 2
# Thresholds that `--p-min auto` tries.
AUTO_P_MINS = (0.3, 0.5)


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Settings of the search for the best γ.

    concurrencies: numbers of simultaneous requests; each has its own search.
    output: file of runs, which a later call continues.
    together: whether the servers of all γ run at once.
    draft_sampling: how the engine chooses draft tokens.
    temperature: Temperature of the target; 0 is greedy.
    max_gamma: The largest gamma to run.
    worth: End when a further run is expected to gain less speed than this.
    max_runs: Most runs at each concurrency, not counting the baseline.
    p_mins: After the search for gamma, try to end drafts below these confidences, such as 0.3,0.5
      (auto), at the best gamma and twice that.
    synthetic: Unconditional acceptance rates by position, which the engine simulates: to tune
      without a trained draft.
    dry_run: Only show the first runs, and their expected times and speed-ups.
    """

    text: PromptSettings = field(default_factory=PromptSettings)
    timing: TimingSettings = field(default_factory=TimingSettings)
    seed: int = 0
    concurrencies: tuple[int, ...] = (1,)
    output: Path | None = None
    together: bool = True
    draft_sampling: DraftSampling = "argmax"
    temperature: float = 0.0
    max_gamma: int = 16
    worth: float = 0.2
    max_runs: int = 6
    p_mins: tuple[float, ...] = ()
    synthetic: tuple[float, ...] | None = None
    dry_run: bool = False

    def __post_init__(self) -> None:
        if min(self.concurrencies) < 1:
            raise ValueError(f"concurrency must be at least 1, got {min(self.concurrencies)}")
        for name in ("max_gamma", "max_runs"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not self.worth > 0:
            raise ValueError(f"worth must be above 0 %, got {self.worth:g}")
        if not all(0 < each <= 1 for each in self.p_mins):
            raise ValueError(f"p-min must lie in (0, 1], got {', '.join(map(str, self.p_mins))}")
        if self.p_mins and not self.together:
            raise ValueError("p-min needs servers that run together, got --servers in-turn")
        if self.text.max_new_tokens < 2:
            raise ValueError(
                "max-new-tokens must be at least 2, the first token being the prompt's, got "
                f"{self.text.max_new_tokens}"
            )
        if self.synthetic is not None and len(self.synthetic) < self.max_gamma:
            raise ValueError(
                f"synthetic must have a rate for each of {self.max_gamma} positions "
                f"(--max-gamma), got {len(self.synthetic)}"
            )

    def duration(self, per_pass: float, start_seconds: float, text_seconds: float | None) -> str:
        """Returns how long a search takes, in words.

        per_pass: number of texts in one pass over all prompts at every concurrency; texts that are
          decoded at the same time count as one.
        start_seconds: seconds to start a server. text_seconds: seconds per text; None: unknown.
        """
        needed = []
        usual = (min(USUAL_RUNS, self.max_runs), (1 + self.timing.repeats) / 2)
        for runs, passes in (usual, (self.max_runs, self.timing.repeats)):
            # If γ take turns, each run times a new γ and the fastest γ so far.
            arms = (2 * runs if self.together else runs + 2) + 3 * len(self.p_mins)
            needed.append((runs + 2, arms * passes * per_pass))
        (starts, texts), (_, most) = needed
        restarts = "" if self.together else f" and {starts} starts of a server"
        sentence = f"{texts:.0f} texts of {self.text.max_new_tokens} tokens{restarts}"
        if text_seconds is None:
            return f"A search usually decodes {sentence}, and at most {most:.0f} texts."
        seconds = [starts * start_seconds + texts * text_seconds for starts, texts in needed]
        about, longest = (f"{s:.2g} s" if s < 99 else f"{s / 60:.0f} min" for s in seconds)
        return f"This takes about {about} ({sentence}), at most {longest}."


@dataclass(frozen=True, kw_only=True)
class TuneEngine(OnEngine):
    """A request to tune an engine that is started for the tuning."""

    how: Tuning

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_taken("synthetic", self.how.synthetic)
        exports = self.kind.exports
        if self.how.p_mins and (exports is None or not exports.stopping):
            able = names_of(lambda kind: kind.exports is not None and kind.exports.stopping)
            raise ValueError(
                f"p-min must be {listed(able)}'s or the own decoder's, got {self.kind.name}"
            )


@dataclass(frozen=True, kw_only=True)
class TuneOwn:
    """A request to tune specplan's own decoder for a pair of models."""

    how: Tuning
    models: ModelSettings
    sampling: SamplingSettings
    threads: int | None = None

    def __post_init__(self) -> None:
        if max(self.how.concurrencies) > 1:
            raise ValueError(
                "concurrency must be 1 without --engine: the own decoder decodes one text at a "
                f"time, got {max(self.how.concurrencies)}"
            )


@dataclass(frozen=True, kw_only=True)
class TuneServer:
    """A request to tune the server at a URL; engine: its kind; None: found from its pages."""

    how: Tuning
    server: str
    engine: str | None = None
