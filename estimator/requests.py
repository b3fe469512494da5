"""Requests to specplan's own decoder: every setting of a measurement, a validation or a text."""

from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from estimator.draft_names.kind import draft_names, one_draft, parse_drafter
from estimator.draft_names.suitable import (
    require_draft_models,
    require_measurable,
    require_predictable,
    require_sampled,
)
from estimator.rule_names import VERIFICATION, require_rule
from estimator.settings import (
    FIXED,
    MAX_GAMMA,
    STOPPING,
    ModelSettings,
    PromptSource,
    SamplingSettings,
    TargetSettings,
    TimedPair,
    require_policies,
    require_read_lengths,
)

# Tokens in the cache of each sequence of a batch, and draft lengths of the fixed policy.
CONTEXT, GAMMAS = 128, (1, 2, 4, 8)
# Draft length of the fixed policy for one text, and width of a beam search, if none is given.
GAMMA, BEAMS = 4, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure(TimedPair):
    """Settings of a measurement: the acceptance and costs of a target and a draft.

    temperature: Temperature of the target; 0 is greedy.
    max_gamma: Longest draft to price.
    batch_size: Texts that the target writes at once for alpha; costs are measured at batch 1.
    batches: Also time passes over this many sequences, for 'plan --profile P --batch'.
    context: With --batch: tokens in the cache of each sequence: 256,1k or 256:4k.  [default: 128]
    output: Write the profile here, and its traces as FILE.traces.npz. An interrupted run keeps the
      traces of finished prompts and repeats the timing.
    """

    draft_temperature: float | None = None
    compiling: str = "off"
    verification: str = VERIFICATION
    temperature: float = 1.0
    max_gamma: int = 16
    batch_size: int = 1
    batches: tuple[int, ...] = ()
    context: tuple[int, ...] | None = None
    output: Path | None = None

    def __post_init__(self) -> None:
        require_measurable(self.models)
        require_sampled(self.models, self.draft_temperature)
        require_rule((), self.verification, None)
        if self.batches:
            require_draft_models(self.models, "with `batch`")
        if min(self.batches, default=1) < 1:
            raise ValueError(f"batch must be at least 1, got {min(self.batches)}")
        if self.context is not None and not self.batches:
            raise ValueError("context needs a batch whose passes are timed, got none")
        if self.context is not None and min(self.context) < 1:
            raise ValueError(f"context must be at least 1, got {min(self.context)}")

    @property
    def loads(self) -> list[tuple[int, int]]:
        """Pairs (batch, tokens in the cache of each sequence) at which passes are timed."""
        contexts = (CONTEXT,) if self.context is None else self.context
        return list(dict.fromkeys(product(self.batches, contexts)))

    @property
    def keeps_traces(self) -> bool:
        """Whether traces are saved; they are not with -o /dev/null, for example."""
        output = self.output
        return output is not None and (output.is_file() or not output.exists())

    @property
    def flags(self) -> tuple[str, ...]:
        """The options, as text, that the user stated and that change how passes run."""
        stated = {"compile": self.compiling, "device-map": self.models.device_map}
        known = (option for option in stated.items() if option[1] not in ("off", None))
        return tuple(f"--{name} {value}" for name, value in known)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureTexts:
    """Settings to measure the acceptance of lookup, suffix or n-gram drafts on recorded texts.

    texts: Measure a draft that copies (lookup, suffix, ngram) on recorded texts, without a model: a
      .jsonl or .parquet file with a prompt and an output in each record, as text or ids.
    drafts: name of one drafter, whose drafts depend only on texts.
    tokenizer: Tokenizer of --texts: embedded, a hub name or a folder.  [default: none, for ids]
    force: whether an n-gram model may be used although its tokenizer may differ from `tokenizer`.
    skip_bad_lines: Leave out lines that cannot be read, and count them.
    processes: Processes that share the log.  [default: one per core]
    output: file for the profile; None: no file, and an interrupted run saves nothing.
    """

    texts: Path
    drafts: tuple[str, ...] = ()
    tokenizer: str | None = None
    force: bool = False
    max_gamma: int = MAX_GAMMA
    skip_bad_lines: bool = False
    processes: int | None = None
    output: Path | None = None

    def __post_init__(self) -> None:
        if len(self.drafts) != 1:
            raise ValueError(f"draft must be given once with texts, got {len(self.drafts)}")
        if self.force and "force" not in parse_drafter(self.draft).reads:
            raise ValueError(f"force is not read by draft {self.draft}")

    @property
    def draft(self) -> str:
        return self.drafts[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Validate(TimedPair):
    """Settings of a validation: the drafts, temperatures and policies to predict and measure.

    gammas: Drafted tokens per block.
    policy_names: fixed (each --gamma), heuristic, confidence:P, product:P or adaptive; repeatable,
      a row each.
    temperatures: Temperatures of the target, a list or range; 0 is greedy.
    """

    draft_temperature: float | None = None
    compiling: str = "off"
    policy_names: tuple[str, ...] = (FIXED,)
    gammas: tuple[int, ...] | None = None
    max_gamma: int | None = None
    verification: str = VERIFICATION
    lenience: float | None = None
    temperatures: tuple[float, ...] = (0.0, 1.0)

    def __post_init__(self) -> None:
        require_read_lengths(self.policy_names, self.gammas, self.max_gamma)
        require_policies(self.policy_names, self.gammas or ())
        require_rule(draft_names(self.models), self.verification, self.lenience)
        require_sampled(self.models, self.draft_temperature)
        gammas = tuple(map(str, dict.fromkeys(GAMMAS if self.gammas is None else self.gammas)))
        policies = [
            length
            for name in dict.fromkeys(self.policy_names)
            for length in (gammas if name == FIXED else (name,))
        ]
        draft = self.draft_temperature
        require_predictable(self.models, policies, self.temperatures if draft is None else (draft,))

    @property
    def replayed(self) -> bool:
        """Whether replay can predict any row, given policies, lenience and temperatures."""
        known = {FIXED, *STOPPING} & {name.partition(":")[0] for name in self.policy_names}
        return bool(known) and (self.lenience in (None, 1) or 0 in self.temperatures)

    @property
    def longest(self) -> int:
        """Longest draft of policies other than the fixed one."""
        return MAX_GAMMA if self.max_gamma is None else self.max_gamma


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateAlone:
    """Settings for decoding one text without a draft.

    text: source of the prompt, and largest number of new tokens.
    prompt: Text to continue.  [default: the first of the prompts]
    temperature: Temperature of the target; 0 is greedy.
    stop_strings: End with the token that completes this text; repeatable.
    seed: Seed of the sampled tokens.
    """

    models: TargetSettings = field(default_factory=TargetSettings)
    text: PromptSource = field(default_factory=PromptSource)
    prompt: str | None = None
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    temperature: float = 1.0
    compiling: str = "off"
    stop_strings: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if "" in self.stop_strings:
            raise ValueError("a stop string must have at least one character, got ''")


@dataclass(frozen=True, slots=True, kw_only=True)
class Generate(GenerateAlone):
    """Settings for decoding one text with a draft.

    gamma: Drafted tokens per block.
    policy_name: fixed (--gamma), heuristic, confidence:P, product:P, or adaptive, which measures
      costs first.
    """

    models: ModelSettings = field(default_factory=ModelSettings)
    draft_temperature: float | None = None
    policy_name: str = FIXED
    gamma: int | None = None
    max_gamma: int | None = None
    verification: str = VERIFICATION
    lenience: float | None = None

    def __post_init__(self) -> None:
        GenerateAlone.__post_init__(self)
        require_read_lengths((self.policy_name,), self.gamma, self.max_gamma)
        require_policies((self.policy_name,), () if self.gamma is None else (self.gamma,))
        require_rule((one_draft(self.models),), self.verification, self.lenience)
        require_sampled(self.models, self.draft_temperature)


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateBeams:
    """Settings of a speculative beam search (Leviathan et al. 2023, A.4).

    beams: Width of --decoder beam.
    draft_beams: Width of the draft's search, at least --beams.  [default: twice --beams]
    """

    models: ModelSettings = field(default_factory=ModelSettings)
    text: PromptSource = field(default_factory=PromptSource)
    prompt: str | None = None
    beams: int = BEAMS
    draft_beams: int | None = None
    gamma: int = GAMMA

    def __post_init__(self) -> None:
        one_draft(self.models)
        require_draft_models(self.models, "for `decoder` beam")
        if self.draft_width < self.beams:
            raise ValueError(
                f"draft_beams must be at least beams, {self.beams}, got {self.draft_width}"
            )

    @property
    def draft_width(self) -> int:
        """Number of beams of the draft's search."""
        return 2 * self.beams if self.draft_beams is None else self.draft_beams
