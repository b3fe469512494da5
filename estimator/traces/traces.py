"""Traces: how well a drafter would have done along texts that the target generated.

A trace answers every gamma by replay (`simulator.acceptance.replay`), with no i.i.d. assumption.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.acceptance.block_verification import block_acceptance
from simulator.acceptance.replay import Replay
from simulator.acceptance.stopping.rule import StoppingRule
from simulator.acceptance.stopping.stopped_text import StoppedText

DraftSampling = Literal["sampled", "argmax"]
DRAFT_SAMPLINGS: tuple[DraftSampling, ...] = ("sampled", "argmax")
Verification = Literal["token", "block"]


class RecordedConfidence(NamedTuple):
    """How sure a draft was, the columns as in `reference.laws.scoring.confidence`, float32.

    along: along the text, shape (N, 3), or (N, K, 3) by block as `Trace.ratio` has it.
    starts: block starts whose own path was drafted, ascending, in 0..N, shape (M,).
    own: along those paths, shape (M, L, 3): L tokens that the draft drafts there by itself.
    """

    along: NDArray[np.float32]
    starts: NDArray[np.int64]
    own: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Trace:
    """Acceptance along one text of N tokens, drafts sampled in one way.

    beta: sum over y of min(p(y), q(y)) at each position, shape (N,) (Leviathan et al. 2023,
      Theorem 5).
    ratio: q(x)/p(x) for the text's own token x, at least 0, shape (N,) or, where the draft depends
      on the block's start, (N, K): entry (t, k) for position t + k of the block that begins at t;
      a one-hot q's may be cut to 1.
    drafted: how many tokens a block that begins at each position drafts, shape (N,), in that case;
      else None.
    limit: the most tokens that the text could have had; N unless the text ended by itself.
    alpha_by_lenience: mean of sum min(p/l, q) by lenience l (Leviathan et al. 2023, A.5), for
      each lenience that was wanted.
    rank: which of the draft's choices the text's own token is, from 0, the likeliest, shape (N,);
      None where the draft makes a single choice, or depends on the block's start.
    confidence: how sure the draft was; None where it was not recorded.
    """

    beta: NDArray[np.float64]
    ratio: NDArray[np.float64]
    drafted: NDArray[np.int64] | None
    limit: int
    alpha_by_lenience: Mapping[float, float] = field(default_factory=dict)
    rank: NDArray[np.int64] | None = None
    confidence: RecordedConfidence | None = None

    @property
    def tokens(self) -> int:
        """N, the text's length."""
        return len(self.beta)

    @property
    def acceptance(self) -> NDArray[np.float64]:
        """The probability min(1, q(x)/p(x)) that the text's token, if drafted, is accepted."""
        return np.minimum(self.ratio, 1.0)

    @property
    def replay(self) -> Replay:
        """The text, to be decoded with blocks of any γ."""
        return Replay(self.acceptance, limit=self.limit, drafted=self.drafted)

    def stopped(self, rule: StoppingRule, *, drawn: bool) -> StoppedText:
        """Returns the replay of the text with drafts that a stopping rule ends.

        drawn: whether the draft's tokens are drawn; false for argmax drafts.
        """
        if self.confidence is None:
            raise ValueError(
                "a stopping rule needs traces with the draft's confidence, got none: measure "
                "again, with a draft that is a model, a head or n-grams"
            )
        along, starts, own = self.confidence
        return StoppedText(
            self.acceptance,
            along=along[..., rule.column],
            starts=starts,
            own=own[..., rule.column],
            limit=self.limit,
            drawn=drawn,
            drafted=self.drafted,
        )

    def judged(self, verification: Verification, max_gamma: int) -> "Trace":
        """Returns the trace with the acceptance that each token has under a verification.

        max_gamma: the longest draft to replay, at least 1.
        """
        if verification == "token":
            return self
        return replace(self, ratio=block_acceptance(self.ratio, max_gamma))


@dataclass(frozen=True, slots=True)
class TracePair:
    """The traces of one text under both ways in which a draft may be sampled.

    sampled: drawn from the draft's law, at the draft's own temperature or, where that is 0, at the
      target's.
    argmax: the draft's likeliest tokens, its law one-hot; beta is then p(argmax q).
    """

    sampled: Trace
    argmax: Trace

    def under(self, draft_sampling: DraftSampling) -> Trace:
        """Returns the trace of that name."""
        return self.argmax if draft_sampling == "argmax" else self.sampled


def lenient_alpha(traces: Sequence[Trace], lenience: float) -> float:
    """Returns the mean of alpha(l) over the tokens of all texts."""
    values = [trace.alpha_by_lenience[lenience] for trace in traces]
    return float(np.average(values, weights=[trace.tokens for trace in traces]))


def alpha(traces: Sequence[Trace]) -> float:
    """Returns the mean of beta over the tokens of all texts (Leviathan et al. 2023, Cor. 6)."""
    return float(np.concatenate([trace.beta for trace in traces]).mean())


def acceptance_by_rank(traces: Sequence[Trace], choices: int) -> tuple[float, ...]:
    """Returns how often the text's token is the draft's first, second, … choice.

    Over the tokens of all texts: the acceptance vector of Sequoia (Chen et al. 2024), section 3.1,
    for trees of likeliest tokens. Empty where a draft makes a single choice.

    Args:
      traces: at least one.
      choices: number of choices that are counted separately.
    """
    known = [trace.rank for trace in traces if trace.rank is not None]
    if len(known) < len(traces):
        return ()
    ranks = np.concatenate(known)
    counts = np.bincount(np.minimum(ranks, choices), minlength=choices + 1)[:choices]
    return tuple((counts / len(ranks)).tolist())


def replayed_calls(trace: Trace, gamma: int) -> float:
    """Returns the expected target calls of decoding the text speculatively."""
    return float(trace.replay.calls(gamma))


def replayed_blocks(traces: Sequence[Trace], max_gamma: int) -> dict[int, tuple[float, ...]]:
    """Returns what `simulator.acceptance.recorded` needs to know of the texts, by γ = 1..max_gamma.

    The expected number of blocks that draft 0, …, γ tokens, for each token of the texts.
    """
    tokens = sum(trace.tokens for trace in traces)
    replays = [trace.replay for trace in traces]
    return {
        gamma: tuple((np.sum([each.blocks(gamma) for each in replays], axis=0) / tokens).tolist())
        for gamma in range(1, max_gamma + 1)
    }


def block_efficiency(traces: Sequence[Trace], gamma: int) -> float:
    """Returns emitted tokens per expected target call, over all texts."""
    calls = sum(replayed_calls(trace, gamma) for trace in traces)
    return sum(trace.tokens for trace in traces) / calls
