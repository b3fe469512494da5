"""Acceptance under a stopping rule: replays recorded texts with drafts that the rule ends.

The rule reads the recorded confidences along the text, so the expected number of calls follows from
`Replay` with drafts as long as the rule allows. How many tokens are drafted and verified depends on
the path of the draft, which may leave the text:

    E[f(D)] = Σ_t v(t) f(D_t)

v(t) is the probability that a block begins at t, and D_t the length of the draft's own path from t.
Since v(t) depends only on the text before t, one drawn path gives an unbiased estimate, and the
only path of an argmax draft gives the exact value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from simulator.acceptance.replay import Replay
from simulator.acceptance.replayed import Replayed
from simulator.cost.cost import Cost
from simulator.numerics.arguments import Floats, integer, probability

# The columns of recorded confidences: the largest probability, the same over the ten likeliest
# tokens, and the probability of the token itself.
Confidence = Literal["largest", "largest of ten", "own", "matched tokens"]
COLUMNS: dict[Confidence, int] = {"largest": 0, "largest of ten": 1, "own": 2}


class StoppingRule(NamedTuple):
    """A rule by which an engine ends a draft at a token whose confidence is below a threshold.

    A rule is lossless if it only uses the draft's distribution before the token is sampled, or if
    the failing token is verified, too. A rule that drops a sampled token because of the token's own
    probability changes the output.

    name: as on the command line.
    confidence: the probability (or number of matched tokens) that is compared with the threshold.
    keeps: whether the failing token is verified. If not, its draft step still takes time.
    builds: the engine builds that apply the rule.
    source: file and lines of the engine's source.
    product: whether the product of all confidences of the block is compared.
    option: the engine's own option; empty if it has none.
    calibrated: whether confidences are calibrated on other texts before they are compared.

    Example of a rule that drops the failing token:
      >>> rule = StoppingRule("least", "largest", keeps=False, builds="all", source="none")
      >>> verified, paid = rule.lengths(np.array([[0.9, 0.4, 0.9]]), 0.5)
      >>> verified.tolist(), paid.tolist()
      ([1], [2])
    """

    name: str
    confidence: Confidence
    keeps: bool
    builds: str
    source: str
    product: bool = False
    option: str = ""
    calibrated: bool = False

    @property
    def column(self) -> int:
        """The column of the recorded confidences that the rule reads."""
        return COLUMNS[self.confidence]

    def lengths(
        self, sure: NDArray[np.floating], threshold: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns the numbers of verified tokens and of draft steps of each draft.

        Both results have shape (...), with values from 0 to L.

        sure: confidences of the drafted tokens, in [0, 1], shape (..., L).
        threshold: smallest confidence with which a draft goes on, in [0, 1]; 0 never stops.
        """
        least = float(probability("p_min", threshold))
        values = sure.cumprod(axis=-1) if self.product else sure
        # In the precision in which confidences were recorded, as engines compare.
        fails = values < values.dtype.type(least)
        longest = sure.shape[-1]
        first = np.where(fails.any(axis=-1), fails.argmax(axis=-1), longest)
        paid = np.minimum(first + 1, longest)
        return (paid if self.keeps else first), paid


_RULES = (
    StoppingRule(
        "llama.cpp", "largest of ten", keeps=False, option="--spec-draft-p-min",
        builds="since pull request 22506 (April 2026)",
        source="common/speculative.cpp: the draft's sampler has top_k = 10; a token is not added "
        "where cur_p->data[0].p < p_min",
    ),
    StoppingRule(
        "llama.cpp-older", "largest of ten", keeps=True, option="--draft-p-min",
        builds="from November 2024 (default 0.75) to pull request 22506 (April 2026)",
        source="common/speculative.cpp: the token is added, then drafting ends where "
        "cur_p->data[0].p < p_min",
    ),
    StoppingRule(
        "transformers", "own", keeps=True, option="assistant_confidence_threshold",
        builds="since 4.46 (default 0.4); specplan's own --policy confidence:P is the same rule",
        source="generation/stopping_criteria.py, ConfidenceCriteria: softmax of all scores",
    ),
    StoppingRule(
        "product", "own", keeps=True, product=True, source="reference/policies.py",
        builds="specplan's own decoder, --policy product:P",
    ),
    StoppingRule(
        "calibrated", "largest", keeps=True, product=True, calibrated=True,
        builds="in no engine yet, with confidences calibrated on other texts",
        source="estimator/traces/traces.py, calibration",
    ),
)  # fmt: skip
RULES = {rule.name: rule for rule in _RULES}
# The rule of lookups, whose threshold is a number of matched tokens and not a probability.
MATCH = StoppingRule(
    "match", "matched tokens", keeps=False, builds="lookups", source="ngram/copies/texts.py"
)


@dataclass(frozen=True, slots=True)
class Stopped(Replayed):
    """Acceptance of recorded texts with drafts of at most γ tokens that a stopping rule may end.

    `blocks` counts blocks by their number of verified tokens.

    paid: the same blocks counted by their number of draft steps, dropped tokens included.
    rule: the stopping rule.
    p_min: the rule's threshold, in [0, 1]; for lookups, the least number of matched tokens.
    drafted_error: standard error of drafted over emitted tokens at the largest γ; 0 if exact.
    """

    paid: Replayed = field(kw_only=True)
    rule: StoppingRule = field(kw_only=True)
    p_min: float = field(kw_only=True)
    drafted_error: float = field(kw_only=True)

    @property
    def most_gamma(self) -> int | None:
        return len(self.blocks)

    def seconds_per_token(self, gamma: ArrayLike, cost: Cost) -> Floats:
        drafting = self.paid.per_token(cost.drafting_seconds, gamma)
        return np.asarray(drafting + self.per_token(cost.checking_seconds, gamma))[()]


class StoppedBlocks(NamedTuple):
    """Expected numbers of blocks of a text, by verified tokens and by draft steps.

    verified, paid: entry g is the number of blocks that verify g tokens, or take g draft steps;
      shape (γ + 1,) each. Both sum to the number of target calls.
    drafted_error: standard error of the number of verified draft tokens; 0 if exact.
    """

    verified: Floats
    paid: Floats
    drafted_error: float

    def seconds(self, cost: Cost) -> float:
        """Returns the expected time to decode the text, in the unit of the cost."""
        counts = np.arange(len(self.verified))
        drafting = self.paid @ cost.drafting_seconds(counts)
        return float(drafting + self.verified @ cost.checking_seconds(counts))


@dataclass(frozen=True, slots=True)
class StoppedText:
    """A recorded text of N positions, to compute the expected blocks under a stopping rule.

    along: the draft's confidences in [0, 1] at the text's tokens, shape (N,) or (N, K) as for the
      `acceptance` of a `Replay`.
    starts: the M positions, ascending, at which the draft also continued with tokens of its own.
    own: confidences in [0, 1] at the L tokens that the draft chose there, shape (M, L).
    drawn: whether these tokens were sampled. If so, another run could have drafted others.
    """

    replay: Replay
    along: NDArray[np.floating]
    starts: NDArray[np.int64]
    own: NDArray[np.floating]
    drawn: bool

    def __post_init__(self) -> None:
        for name, values in (("along the text", self.along), ("along own paths", self.own)):
            outside = values[~((values >= 0) & (values <= 1))]
            if len(outside):
                raise ValueError(f"confidences {name} must lie in [0, 1], got {outside[0]:g}")
        inside = self.starts < len(self.along)
        object.__setattr__(self, "own", self.own[inside])
        object.__setattr__(self, "starts", self.starts[inside])

    @property
    def longest(self) -> int:
        """The longest recorded draft."""
        return int(self.own.shape[1])

    def blocks(self, gamma: int, rule: StoppingRule, threshold: float) -> StoppedBlocks:
        """Returns the text's expected blocks; gamma: most tokens per draft, 0 to `longest`."""
        if integer("gamma", gamma) > self.longest:
            raise ValueError(
                f"gamma must be at most the {self.longest} tokens recorded, got {gamma}"
            )
        on_text, _ = rule.lengths(self._windows(self.longest), threshold)
        whole = self.replay.lengths(gamma)
        begins = self.replay.starts(np.minimum(on_text, gamma))
        if threshold == 0:  # lengths are known at every start
            fixed = np.bincount(whole, begins, minlength=gamma + 1).astype(np.float64)
            return StoppedBlocks(fixed, fixed, 0.0)
        known = begins[self.starts]
        if known.sum() == 0:  # no block that is known begins there: take all paths alike
            known = np.ones(len(self.starts))
        room, calls = whole[self.starts], float(begins.sum())
        lengths = [np.minimum(drafted, room) for drafted in rule.lengths(self.own, threshold)]
        verified, paid = (
            np.bincount(drafted, known, minlength=gamma + 1) * (calls / known.sum())
            for drafted in lengths
        )
        return StoppedBlocks(verified, paid, self._error(lengths[0], known, calls))

    def _windows(self, length: int) -> NDArray[np.floating]:
        """Returns the next `length` confidences along the text at each position, (N, length)."""
        if self.along.ndim == 2:
            return self.along[:, :length]
        padded = np.concatenate([self.along, np.ones(length - 1, dtype=self.along.dtype)])
        return sliding_window_view(padded, length)

    def _error(self, lengths: NDArray[np.int64], known: Floats, calls: float) -> float:
        """Returns the standard error of the drafts' total length, as only `starts` are recorded."""
        missing = 1.0 if self.drawn else 1 - len(lengths) / len(self.along)
        mean = float(known @ lengths) / known.sum()
        spread = float(np.sqrt((known**2 * (lengths - mean) ** 2).sum()))
        return float(calls * spread / known.sum() * np.sqrt(missing))
