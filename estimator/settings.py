"""Settings that requests share: which models run, on which text, how tokens are drawn.

Each field has the name of its command-line option.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference.laws.sampling import Sampling

# Of a draft; predictions keep this many numbers for each text and resample.
MOST_GAMMA = 1000
# The policy of one length, and the longest draft of others where nothing else is said.
FIXED = "fixed"
MAX_GAMMA = 16
# To which a library source is cut, where nothing else is said.
EMBEDDED_PROMPT_TOKENS = 64
# How long runs of the embedded target may take, and how precise any must be, where nothing is said.
EMBEDDED_SECONDS = 120.0
PRECISION_PERCENT = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSettings:
    """Which target runs, and where.

    target: embedded, a Hugging Face name or a folder; None: the embedded one.
    device: auto, cpu or cuda.
    device_map: how the target is spread over devices; None: it is on one.
    dtype: auto, float32, bfloat16 or float16.
    """

    target: str | None = None
    device: str = "auto"
    device_map: str | None = None
    dtype: str = "auto"
    trust_remote_code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings(TargetSettings):
    """Which models run, and where.

    drafts: drafters as a user names them; none: the embedded one, beside the embedded target.
    force: take an n-gram model though its tokenizer is not known to be the target's.
    lattice_k: tokens of each head that a lattice holds; None: 16.
    rescoring_weight: of a rescorer beside the heads, at least 0; None: 1.
    """

    drafts: tuple[str, ...] = ()
    force: bool = False
    lattice_k: int | None = None
    rescoring_weight: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSource:
    """Where prompts come from, and how much is written after each.

    prompts: a file, folder or glob; None with no dataset: library sources.
    dataset, dataset_config, dataset_split: whose rows are the prompts; None: none's.
    prompt_tokens: to which each prompt is cut; None: a user's are whole.
    chat: whether each prompt is a user's message in the chat template.
    max_new_tokens: after each prompt, at most.
    """

    prompts: str | None = None
    dataset: str | None = None
    dataset_config: str | None = None
    dataset_split: str | None = None
    prompt_tokens: int | None = None
    chat: bool = False
    max_new_tokens: int = 64

    @property
    def count(self) -> int:
        """How many prompts are wanted."""
        return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSettings(PromptSource):
    """Which prompts, and how many of them.

    num_prompts: at most, at least 1.
    """

    num_prompts: int = 8

    @property
    def count(self) -> int:
        return self.num_prompts


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingSettings:
    """How often, how precisely and how long runs are timed.

    repeats: of each run, at most.
    precision: per cent that the clock may let speed-ups be off, where repeats end; None: 3.
    time_limit: seconds after which no more runs begin; None: 120 of the embedded target, of others
      as many as they take.
    """

    repeats: int = 3
    precision: float | None = None
    time_limit: float | None = None

    @property
    def percent(self) -> float:
        """How precise is enough."""
        return PRECISION_PERCENT if self.precision is None else self.precision

    def seconds(self, target: str | None) -> float:
        """Returns how long runs of a target, None: the embedded one, may take."""
        if self.time_limit is not None:
            return self.time_limit
        return EMBEDDED_SECONDS if target in (None, "embedded") else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingSettings:
    """How tokens are drawn at any temperature; see `reference.laws.sampling.Sampling`."""

    top_k: int | None = None
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0

    def at(self, temperature: float) -> Sampling:
        """Returns the sampling at a temperature.

        Raises:
          ValueError: if a setting is out of range.
        """
        from reference.laws.sampling import Sampling

        return Sampling(
            temperature=temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            min_p=self.min_p,
            repetition_penalty=self.repetition_penalty,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedPair:
    """What every timed run of a pair by this project's own decoder reads.

    threads: that compute; None: as many as cores are free.
    seed: of texts and order.
    """

    models: ModelSettings = field(default_factory=ModelSettings)
    text: PromptSettings = field(default_factory=PromptSettings)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    timing: TimingSettings = field(default_factory=TimingSettings)
    threads: int | None = None
    seed: int = 0


def draft_sampling(sampling: Sampling, draft_temperature: float | None) -> Sampling:
    """Returns how the draft samples: as the target, but for a temperature of its own.

    Raises:
      ValueError: if that is out of range.
    """
    if draft_temperature is None:
        return sampling
    try:
        return replace(sampling, temperature=draft_temperature)
    except ValueError as error:
        raise ValueError(f"draft_{error}") from error


def require_read_lengths(policy_names: tuple[str, ...], gamma: object, max_gamma: object) -> None:
    """Refuses a length of drafts that none of the policies reads.

    Args:
      policy_names: as a user gave them.
      gamma, max_gamma: of the policy fixed, and of the others; None: not stated.

    Raises:
      ValueError: naming it.
    """
    listed = ", ".join(policy_names)
    if gamma is not None and FIXED not in policy_names:
        raise ValueError(f"gamma is read by the policy fixed alone, got {listed}")
    if max_gamma is not None and set(policy_names) == {FIXED}:
        raise ValueError("max_gamma is read by policies other than fixed, got fixed alone")
