"""Settings of plans and of servers under load, each declared once: name, type, default and help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

# From servers' names of drafts to the kinds of `engines.kind.Drafted`.
DRAFT_KINDS = MappingProxyType(
    {
        "eagle3": "EAGLE-3",
        "mtp": "MTP",
        "dflash": "DFlash",
        "suffix": "suffix",
        "ngram": "n-gram",
        "draft-model": "model",
    }
)
# Drafters that copy, as --draft names them.
COPIES = MappingProxyType({"suffix": "suffix", "ngram": "lookup"})


@dataclass(frozen=True)
class DraftNamed:
    """Names of the models, the kind of draft, and the largest γ.

    target: The target's name. With --draft, c is checked against the sizes in both names.
    draft: The draft model's name, for --export. With --target, its size is used to check c.
    draft_kind: Kind of draft, without --draft-config. It selects the usual acceptance after the
      counted positions, and the method that --export names.
    max_gamma: The largest gamma to consider.
    """

    target: str | None = None
    draft: str | None = None
    draft_kind: str | None = None
    max_gamma: int = 32

    def __post_init__(self) -> None:
        if self.draft_kind is not None and self.draft_kind not in DRAFT_KINDS:
            raise ValueError(
                f"draft_kind must be one of {', '.join(DRAFT_KINDS)}, got {self.draft_kind!r}"
            )
        copies = {drafter: kind for kind, drafter in COPIES.items()}
        if self.draft is not None and (kind := copies.get(self.draft.partition(":")[0])):
            raise ValueError(
                f"`draft` must be a model or a head, got {self.draft}: state `draft_kind` {kind}"
            )


@dataclass(frozen=True)
class Choice(DraftNamed):
    """Candidates and criteria of the choice of γ.

    c_hat: Operations of a draft step over operations of a target step.  [default: c]
    gamma: Evaluate this gamma.  [default: the best]
    near: Advise the smallest gamma that is at most this many per cent slower than the best.
    reads_again: The target reads accepted tokens again. Recurrent layers do so after a rejection.
    """

    c_hat: float | None = None
    gamma: int | None = None
    near: float = 1.0
    reads_again: bool = False

    def __post_init__(self) -> None:
        DraftNamed.__post_init__(self)
        if not 0 <= self.near < 100:
            raise ValueError(f"near must lie in [0, 100) per cent, got {self.near:g}")


@dataclass(frozen=True)
class Graphs:
    """Limits of captured graphs.

    graph_tokens: Largest step in captured graphs, in tokens; 0: no limit.  [default: vLLM's 512]
    graph_requests: Largest step in captured graphs, in requests; 0: no limit.  [default: SGLang's
      256, TensorRT-LLM's 128]
    """

    graph_tokens: int | None = None
    graph_requests: int | None = None


@dataclass(frozen=True)
class StoppingSettings:
    """Thresholds and rule of drafts that end early.

    p_min: Also plan the confidence below which a draft ends. State thresholds, or auto for 0 to
      0.95; needs --profile. With a lookup on recorded texts: least number of matched tokens.
    stopping_rule: The rule of --p-min: llama.cpp, llama.cpp-older, transformers, product,
      calibrated.  [default: the rule of --export's server, else llama.cpp]
    """

    p_min: str | None = None
    stopping_rule: str | None = None


@dataclass(frozen=True)
class Batching:
    """How the server batches requests.

    slots: Largest number of sequences decoded together.
    chunk_tokens: Prompt tokens read in one decoding step; 0: prompts are read in separate steps.
    prompt_ms: Time to the first token of one request on an idle server, milliseconds.
      [default: by the roofline]
    cached_share: Share of each prompt's tokens that a prefix cache holds, so that nobody reads
      them, from 0 to below 1.
    cache_tokens: Tokens that the cache of all sequences holds.  [default: by the GPU's memory]
    gamma: Drafted tokens per block.  [default: the best at each rate]
    max_gamma: The largest gamma to consider.
    alpha_spread: Standard deviation of alpha between requests.  [default: between the profile's
      prompts, else 0]
    """

    slots: int = 256
    chunk_tokens: int = 2048
    prompt_ms: float | None = None
    cached_share: float = 0.0
    cache_tokens: float | None = None
    gamma: int | None = None
    max_gamma: int = 32
    alpha_spread: float | None = None

    def __post_init__(self) -> None:
        if self.slots < 1:
            raise ValueError(f"`slots` must be at least 1, got {self.slots}")
        if not 0 <= self.cached_share < 1:
            raise ValueError(f"`cached_share` must lie in [0, 1), got {self.cached_share:g}")


def require_targets(targets: Mapping[str, float]) -> None:
    """Refuses latency targets in milliseconds of other names than ttft and tpot, or not above 0."""
    for name, ms in targets.items():
        if name not in ("ttft", "tpot") or not 0 < ms < float("inf"):
            raise ValueError(
                f"`targets` must be ttft=MS, tpot=MS or both, above 0, got '{name}={ms}'"
            )


@dataclass(frozen=True)
class Arrivals:
    """Arrivals and latency targets.

    rate: Requests per second: 5, a list, or a range 1:20:1.  [default: the trace's]
    prompt_tokens: Mean length of prompts, in tokens.
    output_tokens: Mean length of outputs, in tokens.
    trace: CSV of requests with time (s), prompt_tokens and output_tokens, in place of both means.
    burst: Send N requests at once, and show the time until all are done, with no draft, a fixed
      gamma, and gamma by batch.
    targets: Latency targets, e.g. ttft=500,tpot=50 (milliseconds).
    replicas: Servers that share the requests, which each gets in turn; rates are of all.
    """

    rate: float | Sequence[float] | None = None
    prompt_tokens: float | None = None
    output_tokens: float | None = None
    trace: Path | None = None
    burst: int | None = None
    targets: Mapping[str, float] | None = None
    replicas: int = 1

    def __post_init__(self) -> None:
        if type(self.replicas) is not int or self.replicas < 1:
            raise ValueError(f"replicas must be an integer of at least 1, got {self.replicas!r}")
        require_targets(self.targets or {})

    @property
    def rates(self) -> Sequence[float]:
        """The stated rates; none: the trace's."""
        if isinstance(self.rate, int | float):
            return (self.rate,)
        return self.rate or ()


@dataclass(frozen=True)
class Simulation:
    """Whether and how arrivals are simulated.

    simulate: Simulate arrivals, too. Shows percentiles, and gamma by batch and by request.
    requests: Number of simulated requests.  [default: 20000]
    seed: Seed of the arrivals.  [default: 0]
    """

    simulate: bool = False
    requests: int | None = None
    seed: int | None = None
