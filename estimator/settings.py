"""Settings that several requests share; each field has the name of its command-line option."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference.laws import Sampling

# Longest draft; predictions keep this many numbers per text and resample them.
MOST_GAMMA = 1000
# The policy with one draft length, others, and the default of the longest draft of the others.
FIXED, ADAPTIVE, HEURISTIC = "fixed", "adaptive", "heuristic"
STOPPING = CONFIDENCE, _ = "confidence", "product"
MAX_GAMMA = 16
# Default number of tokens of a prompt from library sources.
EMBEDDED_PROMPT_TOKENS = 64
# Default time limit with the embedded target, and default precision of timing.
EMBEDDED_SECONDS = 120.0
PRECISION_PERCENT = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSettings:
    """The target model and where it runs.

    target: Model to accelerate: embedded, a Hugging Face name or a folder.  [default: embedded]
    device: Where the models run; auto: a GPU if there is one.
    device_map: Spread a target that is too large for one GPU over all: auto, balanced,
      balanced_low_0, sequential (accelerate's), or a JSON object with a device for each module. The
      draft runs on the device of the target's first layer.
    dtype: Number format; auto: float32 on a CPU, the checkpoint's own format elsewhere.
    trust_remote_code: Let a model repository's own code run.
    """

    target: str | None = None
    device: str = "auto"
    device_map: str | None = None
    dtype: str = "auto"
    trust_remote_code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings(TargetSettings):
    """A target, its drafters, and where they run.

    drafts: Names of drafters; empty: the embedded drafter, if the target is embedded.
    force: Accept an n-gram model even if its tokenizer is not known to be the target's.
    lattice_k: Candidates per head for heads+RESCORER and heads*P.  [default: 16]
    rescoring_weight: Weight of the rescorer relative to the heads, at least 0.  [default: 1]
    """

    drafts: tuple[str, ...] = ()
    force: bool = False
    lattice_k: int | None = None
    rescoring_weight: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSource:
    """The source of prompts, or the prompts themselves, and the number of new tokens after each.

    prompts: File, folder or glob of prompts. Formats: .txt (a prompt per line), .jsonl, .ndjson or
      .json (with prompt, text, turns, messages or conversations).  [default: library sources held
      out from the embedded models]
    dataset: Prompts of a Hugging Face data set. It is read with the keys of --prompts; needs pip
      install -e '.[datasets]'.
    dataset_config: Configuration of a data set that has several.
    dataset_split: Split of the data set.  [default: its only one]
    prompt_tokens: Cut each prompt to its first tokens.  [default: 64 for library sources, else
      whole]
    chat: Put each prompt into the chat template, as a user's message.
    max_new_tokens: Most tokens after each prompt.
    """

    prompts: str | tuple[str, ...] | None = None
    dataset: str | None = None
    dataset_config: str | None = None
    dataset_split: str | None = None
    prompt_tokens: int | None = None
    chat: bool = False
    max_new_tokens: int = 64

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise ValueError(f"max_new_tokens must be at least 1, got {self.max_new_tokens}")
        if self.prompts == ():
            raise ValueError("prompts must hold at least one prompt, got none")

    @property
    def num_prompts(self) -> int:
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSettings(PromptSource):
    """The source and the number of prompts.

    num_prompts: Number of prompts to use.
    """

    num_prompts: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingSettings:
    """The conditions that end timed runs.

    repeats: Timings of each run, at most.
    precision: Stop repeating once timing errors of all speed-ups are below this, 90 % confidence.
      [default: 3]
    time_limit: Begin no more runs after this time, for all drafts and temperatures together. Two
      prompts always run once; for a profile and with BiLD, all run.  [default: 120 for the embedded
      target, else none]
    """

    repeats: int = 3
    precision: float | None = None
    time_limit: float | None = None

    @property
    def percent(self) -> float:
        return PRECISION_PERCENT if self.precision is None else self.precision

    def seconds(self, target: str | None) -> float:
        """Returns the time limit in seconds; target None: the embedded target."""
        if self.time_limit is not None:
            return self.time_limit
        return EMBEDDED_SECONDS if target in (None, "embedded") else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingSettings:
    """Sampling settings apart from the temperature; see `reference.laws.Sampling`.

    top_k: Keep the k likeliest tokens.
    top_p: Keep the smallest set of tokens with this probability.
    min_p: Drop tokens less likely than this times the likeliest.
    repetition_penalty: Weaken tokens that are already in the text; 1 changes nothing.
    """

    top_k: int | None = None
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0

    def at(self, temperature: float) -> Sampling:
        from reference.laws import Sampling

        return Sampling(temperature=temperature, **asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedPair:
    """Settings that all timed runs of a target and a draft in specplan's own decoder share.

    threads: number of computing threads; None: one less than the number of free cores.
    seed: random seed of the texts and of the order of runs.
    """

    models: ModelSettings = field(default_factory=ModelSettings)
    text: PromptSettings = field(default_factory=PromptSettings)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    timing: TimingSettings = field(default_factory=TimingSettings)
    threads: int | None = None
    seed: int = 0


def draft_sampling(sampling: Sampling, draft_temperature: float | None) -> Sampling:
    """Returns the target's sampling settings, with the draft's own temperature if it has one."""
    if draft_temperature is None:
        return sampling
    try:
        return replace(sampling, temperature=draft_temperature)
    except ValueError as error:
        raise ValueError(f"draft_{error}") from error


def require_policies(names: Sequence[str], gammas: Sequence[int]) -> None:
    """Refuses unknown policies, thresholds outside [0, 1] and draft lengths out of range."""
    for name in names:
        family, _, value = name.partition(":")
        if family in STOPPING:
            if not 0 <= _number(value) <= 1:
                raise ValueError(f"policy {family}:P needs a threshold P in [0, 1], got {name!r}")
        elif name not in (FIXED, ADAPTIVE, HEURISTIC):
            raise ValueError(
                "policy must be fixed, heuristic, confidence:P, product:P or adaptive, got "
                f"{name!r}"
            )
    for gamma in gammas:
        if not 1 <= gamma <= MOST_GAMMA:
            raise ValueError(f"gamma must lie in [1, {MOST_GAMMA}], got {gamma}")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def require_read_lengths(policy_names: tuple[str, ...], gamma: object, max_gamma: object) -> None:
    """Refuses gamma unless a policy is `fixed`, and max_gamma if all policies are `fixed`."""
    if gamma is not None and FIXED not in policy_names:
        raise ValueError(f"gamma is read only by the policy fixed, got {', '.join(policy_names)}")
    if max_gamma is not None and set(policy_names) == {FIXED}:
        raise ValueError("max_gamma is read by policies other than fixed, got only fixed")
