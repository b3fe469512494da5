"""Parts of a profile: estimates, the acceptance of each way to sample drafts, and the setup."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from importlib.metadata import version
from math import log
from typing import Annotated, Any

import msgspec

from estimator.traces.traces import Verification
from simulator.acceptance.accepted import Accepted
from simulator.acceptance.from_counts import FromCounts, from_counts
from simulator.acceptance.replayed import Replayed
from simulator.numerics.intervals import CONFIDENCE, deviations, wilson_trials

Rate = Annotated[float, msgspec.Meta(ge=0, le=1)]
# The level of an interval.
Level = Annotated[float, msgspec.Meta(gt=0, lt=1)]
# No time or ratio is larger; 10^9 ms are 11 days.
MOST = 1e9
Positive = Annotated[float, msgspec.Meta(gt=0, le=MOST)]
NotNegative = Annotated[float, msgspec.Meta(ge=0, le=MOST)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Gamma = Annotated[int, msgspec.Meta(ge=1)]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval; low and high are None if the data give no interval."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Alpha:
    """The acceptance rate α with its interval, and the number of tokens and prompts behind it.

    confidence: confidence level of all intervals in the profile.
    spread: standard deviation of α between requests; None if requests were not counted separately.
    """

    value: Rate
    low: float | None = None
    high: float | None = None
    confidence: Level = CONFIDENCE
    tokens: Count | None = None
    prompts: Count | None = None
    spread: NotNegative | None = None

    @property
    def level(self) -> float:
        """The confidence level of the intervals."""
        return self.confidence

    @property
    def logit_error(self) -> float:
        """Standard deviation of the logit of α; 0 without an interval."""
        if self.low is None or self.high is None or not 0 < self.low < self.high < 1:
            return 0.0
        low, high = (log(end / (1 - end)) for end in (self.low, self.high))
        return (high - low) / (2 * deviations(self.level))


@dataclass(frozen=True, slots=True)
class ContextAcceptance:
    """Acceptance of the blocks that begin at contexts of `first` to `last` tokens.

    A context is the number of tokens before a block: the prompt's and the generated ones.

    context: geometric mean of the contexts.
    blocks: see `DraftAcceptance`, under token-by-token verification, per token that these blocks
      emit.
    """

    first: Count
    last: Count
    context: Gamma
    alpha: Alpha
    blocks: Mapping[Gamma, tuple[NotNegative, ...]]


@dataclass(frozen=True, slots=True)
class DraftAcceptance:
    """Acceptance of drafts that are sampled in one way, argmax or sampled.

    blocks, blocks_jointly: for γ = 1, 2, …, the expected number of blocks that draft 0, …, γ tokens
      (`simulator.acceptance.replay`), per token of the texts, under token-by-token and under block
      verification. Empty without traces.
    accepted_by_position: share of all blocks that accept their first, second, … token, for the
      longest timed draft. If a server counted these shares, `blocks` is empty.
    cut_short: share of positions that the blocks of `accepted_by_position` did not draft, for
      example near the ends of texts. Above 1 % the shares and α are lower bounds.
    acceptance_by_rank: how often the text's token is the draft's first, second, … choice.
    at_contexts: acceptance by context, ascending; empty unless several contexts were measured.
    counted: counts of a server, with the number of blocks; None if texts were replayed.
    """

    alpha: Alpha
    blocks: Mapping[Gamma, tuple[NotNegative, ...]] = field(default_factory=dict)
    blocks_jointly: Mapping[Gamma, tuple[NotNegative, ...]] = field(default_factory=dict)
    accepted_by_position: tuple[Estimate, ...] = ()
    cut_short: Rate = 0.0
    alpha_by_lenience: Mapping[float, Rate] = field(default_factory=dict)
    acceptance_by_rank: tuple[Rate, ...] = ()
    at_contexts: tuple[ContextAcceptance, ...] = ()
    counted: Accepted | None = None

    @property
    def acceptance(self) -> Replayed | FromCounts:
        """The acceptance under token-by-token verification, for a draft of unknown kind."""
        return self.under("token")

    def under(
        self, verification: Verification, draft_class: str | None = None
    ) -> Replayed | FromCounts:
        """Returns the acceptance under token or block verification.

        draft_class: class of the draft, which selects the prior (`rate_prior`) for counts by
          position; None: not known.

        Raises ValueError for block verification if the profile was measured without it.
        """
        blocks = self.blocks if verification == "token" else self.blocks_jointly
        if blocks:
            return Replayed(
                self.alpha.value, blocks, self.alpha.logit_error, self._by_context(verification)
            )
        if verification == "block":
            raise ValueError(
                "the profile must hold blocks_jointly to plan block verification, got none: "
                "measure again with specplan's own decoder (an engine reports the probabilities of "
                "a text's own tokens, not the distributions that block verification compares)"
            )
        if not self.accepted_by_position:
            raise ValueError("a profile must hold blocks or accepted_by_position, got neither")
        first, rates = self.accepted_by_position[0], [e.value for e in self.accepted_by_position]
        if self.counted is not None:
            counted = self.counted
        elif first.low is None or first.high is None:  # only the sum of the rates was counted
            counted = Accepted(len(rates), 1 + sum(rates))
        else:
            trials = wilson_trials(first.value, first.low, first.high, confidence=self.alpha.level)
            counted = Accepted.of_rates(rates, drafts=trials)
        return from_counts([counted], draft_class=draft_class, cut_short=self.cut_short)

    def _by_context(self, verification: Verification) -> tuple[tuple[int, Replayed], ...]:
        """Returns the acceptance by context; () under block verification, where it is not known."""
        return tuple(
            (part.context, Replayed(part.alpha.value, part.blocks, part.alpha.logit_error))
            for part in (self.at_contexts if verification == "token" else ())
        )


@dataclass(frozen=True, slots=True)
class Software:
    """Python, operating system and libraries that measured, and the command.

    command: the command that made the profile; None: not recorded.
    """

    python: str | None = None
    platform: str | None = None
    libraries: Mapping[str, str] = field(default_factory=dict)
    command: str | None = None


@dataclass(frozen=True, slots=True)
class TextSettings:
    """Prompts, lengths and random seed of a measurement."""

    prompts_hash: str | None = None
    max_new_tokens: int | None = None
    max_gamma: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Setup:
    """Models, machine, software and settings of a measurement."""

    target: str
    draft: str
    revision: Mapping[str, str | None] = field(default_factory=dict)
    dtype: str | None = None
    device: str | None = None
    threads: int | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    draft_temperature: float | None = None
    software: Software = Software()
    texts: TextSettings = TextSettings()
    date: str | None = None
    engine: str | None = None
    engine_version: str | None = None
    flags: tuple[str, ...] = ()

    @property
    def recorded(self) -> str:
        """Device and date, without those that are not known."""
        return ", ".join(filter(None, [self.device, self.date]))

    def here(self, libraries: Iterable[str]) -> Setup:
        """Returns the setup with today's date, this machine and the libraries' versions added."""
        versions = {name: version(name) for name in libraries}
        software = Software(platform.python_version(), platform.platform(), versions)
        return replace(self, software=software, date=date.today().isoformat())
