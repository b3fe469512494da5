"""Decodes one text, with or without a draft."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from estimator.loading.pairs import LoadedPair, load, one_draft, require_rule
from estimator.loading.policies import parse_policies
from estimator.rule_names.kind import VERIFICATION, acceptance_rule
from estimator.settings import (
    FIXED,
    MAX_GAMMA,
    ModelSettings,
    PromptSource,
    SamplingSettings,
    TargetSettings,
    draft_sampling,
    require_read_lengths,
)
from estimator.timing.arms import Speculative
from estimator.timing.planner import adaptive
from estimator.timing.precision import Timing
from estimator.timing.processes import require_one_process
from reference.laws.sampling import seeded
from reference.rules.rule import STRICT, Rule
from reference.speculative import Session, Subject, opening_text, plain_session
from reference.stopping import Stopping, StopStrings

# Sources of prompts; a prompt given directly replaces all of them.
SOURCES = ("prompts", "dataset", "dataset_config", "dataset_split")


@dataclass(frozen=True, slots=True, kw_only=True)
class OneText:
    """Settings that every decoder of a single text shares.

    text: source of the prompt (the first one is used), and number of new tokens.
    prompt: the prompt itself, in place of a source; None: use the source.
    """

    text: PromptSource = field(default_factory=PromptSource)
    prompt: str | None = None

    def __post_init__(self) -> None:
        if self.prompt is None:
            return
        if not self.prompt.strip():
            raise ValueError("prompt must not be empty, got an empty one")
        for source in SOURCES:
            if getattr(self.text, source) is not None:
                raise ValueError(f"prompt and {source} cannot both be given")

    def started(self, loaded: LoadedPair, session: Session, rule: Rule) -> Started:
        """Returns the session with the ids that a reader should see before it.

        These are the prompt's ids, unless a chat template or an encoder hides them.
        """
        [ids] = loaded.prompts
        hidden = self.text.chat or session.text != ids
        return Started(loaded.tokenizer, [] if hidden else list(ids), session, rule)


@dataclass(frozen=True, slots=True)
class Started:
    """A session and its display settings.

    before: ids that a reader should see before the blocks; empty if a template hides them.
    session: the text, whose blocks are decoded on demand.
    """

    tokenizer: Any
    before: list[int]
    session: Session
    rule: Rule


def stopping_at(loaded: LoadedPair, stop_strings: tuple[str, ...]) -> Stopping:
    """Returns the stopping rule of a pair's text, with the given stop strings."""
    if not stop_strings:
        return loaded.stopping
    strings = StopStrings(stop_strings, loaded.tokenizer.decode)
    return replace(loaded.stopping, stop_strings=strings)


GAMMA = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateAlone(OneText):
    """Settings of a text decoded without a draft.

    compiling: off, on or try.
    """

    models: TargetSettings = field(default_factory=TargetSettings)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    temperature: float = 1.0
    compiling: str = "off"
    stop_strings: tuple[str, ...] = ()
    seed: int = 0

    def loaded(self, gammas: Sequence[int] = ()) -> LoadedPair:
        """Returns the loaded models; passes for drafts of these lengths are compiled, too."""
        require_one_process("generate")
        if "" in self.stop_strings:
            raise ValueError("a stop string must have at least one character, got ''")
        return load(
            self.models,
            self.text,
            sampling=self.sampling,
            prompt=self.prompt,
            compiling=self.compiling,
            gammas=gammas,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Generate(GenerateAlone):
    """Settings of a text decoded by a pair.

    draft_temperature: temperature of the draft; None: the target's.
    policy_name: fixed, heuristic, confidence:P, product:P or adaptive.
    gamma: draft length of the fixed policy; None: 4.
    max_gamma: longest draft of other policies; None: 16.
    verification, lenience: how drafts are verified; None: without loss.
    """

    models: ModelSettings = field(default_factory=ModelSettings)
    draft_temperature: float | None = None
    policy_name: str = FIXED
    gamma: int | None = None
    max_gamma: int | None = None
    verification: str = VERIFICATION
    lenience: float | None = None

    def __post_init__(self) -> None:
        OneText.__post_init__(self)
        require_read_lengths((self.policy_name,), self.gamma, self.max_gamma)


def generate_alone(request: GenerateAlone) -> Started:
    """Returns a session in which the target decodes without a draft."""
    sampling = request.sampling.at(request.temperature)
    loaded = request.loaded()
    [ids] = loaded.prompts
    text = plain_session(
        loaded.target,
        ids,
        sampling=sampling,
        stopping=stopping_at(loaded, request.stop_strings),
        generator=seeded(loaded.target.device, request.seed),
    )
    return request.started(loaded, text, STRICT)


def generate(request: Generate) -> Started:
    """Returns a session of a pair."""
    gamma = GAMMA if request.gamma is None else request.gamma
    most = MAX_GAMMA if request.max_gamma is None else request.max_gamma
    names = [request.policy_name]
    [policy] = parse_policies(names, gammas=[gamma], max_gamma=most).values()
    rule = acceptance_rule(request.verification, request.lenience)
    sampling = request.sampling.at(request.temperature)
    drafted_by = draft_sampling(sampling, request.draft_temperature)
    require_rule([one_draft(request.models)], rule)
    fixed = request.policy_name == FIXED
    loaded = request.loaded([gamma] if fixed else [GAMMA, most])
    target, stopping = loaded.target, stopping_at(loaded, request.stop_strings)
    [ids] = loaded.prompts
    [drafter_of] = loaded.drafters.values()
    subject = Subject(target, drafter_of(drafted_by), sampling, stopping, rule)
    if policy is None:
        opening_text(target, ids, stopping)  # refuses long prompts before costs are measured
        policy = adaptive(
            replace(subject, stopping=loaded.stopping),
            [ids],
            Timing(seed=request.seed),
            max_gamma=most,
        )
    text = Speculative(policy)(subject, ids, seeded(target.device, request.seed))
    return request.started(loaded, text, rule)
