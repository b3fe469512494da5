"""Requests for a tuning; each field is named like its option."""

from dataclasses import dataclass, field
from pathlib import Path

from engines.kind import listed, names_of
from engines.trials.request import OnEngine, require_prompts
from estimator.settings import ModelSettings, PromptSettings, SamplingSettings, TimingSettings

# Thresholds that `--p-min auto` tries.
AUTO_P_MINS = (0.3, 0.5)


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Settings of the search for the best γ.

    concurrencies: numbers of simultaneous requests; each has its own search.
    output: file of runs, which a later call continues.
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
        if not all(0 < p_min <= 1 for p_min in self.p_mins):
            raise ValueError(f"p-min must lie in (0, 1], got {', '.join(map(str, self.p_mins))}")
        require_prompts(self.concurrencies, self.text)
        if self.text.max_new_tokens < 2:
            raise ValueError(
                "max-new-tokens must be at least 2, the first token being the prompt's, got "
                f"{self.text.max_new_tokens}"
            )
        if self.synthetic is not None and len(self.synthetic) < self.max_gamma:
            raise ValueError(
                f"synthetic must have a rate for each of {self.max_gamma} positions "
                f"(`max_gamma`), got {len(self.synthetic)}"
            )


@dataclass(frozen=True, kw_only=True)
class TuneEngine(OnEngine):
    """A request to tune an engine that is started for the tuning."""

    how: Tuning

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_taken("synthetic", self.how.synthetic)
        stated = self.engine.concurrencies
        if stated not in ((1,), self.how.concurrencies):
            raise ValueError(f"concurrencies of a tuning must be its search's, got {stated}")
        if self.how.p_mins and not self.together:
            raise ValueError("p-min needs servers that run together, got `servers` in-turn")
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
                "concurrency must be 1 without `engine`: the own decoder decodes one text at a "
                f"time, got {max(self.how.concurrencies)}"
            )


@dataclass(frozen=True, kw_only=True)
class TuneServer:
    """A request to tune the server at a URL; engine: its kind; None: found from its pages."""

    how: Tuning
    server: str
    engine: str | None = None
