"""Traces: how often a drafter's tokens would be accepted along texts, and its confidence in them.

Confidence is calibrated by isotonic regression (Zadrozny and Elkan 2002): it becomes the share of
right tokens among tokens with a given confidence. The texts with even numbers calibrate the texts
with odd numbers, and vice versa.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from simulator.acceptance.replay import Replay
from simulator.acceptance.stopping.stopped_text import StoppedText, StoppingRule
from simulator.acceptance.tokens import block_acceptance

DraftSampling = Literal["sampled", "argmax"]
DRAFT_SAMPLINGS: tuple[DraftSampling, ...] = ("sampled", "argmax")
Verification = Literal["token", "block"]
Reals = NDArray[np.floating]
# Number of bins of uncalibrated confidence in `reliability`.
BINS = 10


class RecordedConfidence(NamedTuple):
    """A draft's confidence in each token, float32; 3 columns: see `reference.scoring.confidence`.

    along: confidences at the tokens of the text, shape (N, 3), or (N, K, 3) like `Trace.ratio`.
    starts: the M positions, ascending, in 0..N, from which the draft continued with its own tokens.
    own: confidences in the L tokens of each of these continuations, shape (M, L, 3).
    """

    along: NDArray[np.floating]
    starts: NDArray[np.int64]
    own: NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Trace:
    """Acceptance along one text of N tokens, for one way to sample drafts.

    The target's distribution is p, the draft's q.

    beta: Σ_y min(p(y), q(y)) at each position, shape (N,) (Leviathan et al. 2023, Theorem 5).
    ratio: q(x)/p(x) for the text's own token x, at least 0, shape (N,). If the draft depends on the
      block's start, shape (N, K), entry (t, k) for position t + k of the block that begins at t. If
      q is one-hot, ratios above 1 may be recorded as 1.
    drafted: number of tokens that a block from each position drafts, shape (N,), if ratio has shape
      (N, K); else None.
    limit: largest possible length of the text; above N if an end-of-text token ended the text.
    alpha_by_lenience: mean of Σ min(p/l, q) by lenience l (Leviathan et al. 2023, A.5).
    rank: rank of the text's own token among the draft's choices, 0 for the likeliest, shape (N,);
      None if the draft makes a single choice or depends on the block's start.
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
        """Length N of the text in tokens."""
        return len(self.beta)

    @property
    def acceptance(self) -> NDArray[np.float64]:
        """Probability min(1, q(x)/p(x)) that the draft is accepted, in the shape of `ratio`."""
        return np.minimum(self.ratio, 1.0)

    def by_start(self, longest: int) -> NDArray[np.float64]:
        """Returns `acceptance` by block start and offset, shape (N, longest); 0 after the end."""
        accepted = self.acceptance
        if accepted.ndim == 1:
            accepted = sliding_window_view(np.pad(accepted, (0, longest)), longest)[: self.tokens]
        inside = np.arange(longest) < np.arange(self.tokens, 0, -1)[:, None]
        return np.where(inside, accepted[:, :longest], 0.0)

    @property
    def replay(self) -> Replay:
        """The replay of the text, which computes its expected blocks for any γ."""
        return Replay(self.acceptance, limit=self.limit, drafted=self.drafted)

    def stopped(self, rule: StoppingRule, *, drawn: bool) -> StoppedText:
        """Returns the replay of drafts that `rule` ends early; drawn: whether they are sampled."""
        if self.confidence is None:
            raise ValueError(
                "a stopping rule needs traces with the draft's confidence, got none: measure "
                "again, with a draft that is a model, a head or n-grams"
            )
        along, starts, continued = self.confidence
        return StoppedText(
            self.replay,
            along=along[..., rule.column],
            starts=starts,
            own=continued[..., rule.column],
            drawn=drawn,
        )

    def judged(self, verification: Verification, max_gamma: int) -> "Trace":
        """Returns the trace whose `ratio` gives the acceptance probabilities under `verification`.

        max_gamma: the longest draft, at least 1.
        """
        by_token = verification == "token"
        return self if by_token else replace(self, ratio=block_acceptance(self.ratio, max_gamma))


@dataclass(frozen=True, slots=True)
class TracePair:
    """The traces of one text for sampled and for argmax drafts.

    sampled: the draft samples at its own temperature, or at the target's if its own is 0.
    argmax: the draft takes its likeliest tokens, with a one-hot distribution; beta is p(argmax q).
    ids: the text's ids, shape (N,); None in files of older versions, and for texts of servers.
    """

    sampled: Trace
    argmax: Trace
    ids: tuple[int, ...] | None = None

    def under(self, draft_sampling: DraftSampling) -> Trace:
        return self.argmax if draft_sampling == "argmax" else self.sampled


def lenient_alpha(traces: Sequence[Trace], lenience: float) -> float:
    """Returns alpha(l) at one lenience l, averaged over the tokens of all texts."""
    values = [trace.alpha_by_lenience[lenience] for trace in traces]
    return float(np.average(values, weights=[trace.tokens for trace in traces]))


def alpha(traces: Sequence[Trace]) -> float:
    """Returns the mean of beta over the tokens of all texts (Leviathan et al. 2023, Cor. 6)."""
    return float(np.concatenate([trace.beta for trace in traces]).mean())


def acceptance_by_rank(traces: Sequence[Trace], choices: int) -> tuple[float, ...]:
    """Returns the share of tokens that are the draft's first, second, … of `choices` choices.

    This is the acceptance vector of Sequoia (Chen et al. 2024), section 3.1, for trees of likeliest
    tokens. It is empty if a draft makes a single choice.
    """
    known = [trace.rank for trace in traces if trace.rank is not None]
    if len(known) < len(traces):
        return ()
    ranks = np.concatenate(known)
    return tuple((np.bincount(ranks, minlength=choices)[:choices] / len(ranks)).tolist())


def replayed_blocks(traces: Sequence[Trace], max_gamma: int) -> dict[int, tuple[float, ...]]:
    """Returns, by γ, the expected number of blocks that draft 0, …, γ tokens, per emitted token."""
    tokens = sum(trace.tokens for trace in traces)
    replays = [trace.replay for trace in traces]
    return {
        gamma: tuple(
            (np.sum([replay.blocks(gamma) for replay in replays], axis=0) / tokens).tolist()
        )
        for gamma in range(1, max_gamma + 1)
    }


def block_efficiency(traces: Sequence[Trace], gamma: int) -> float:
    """Returns the tokens of all texts divided by the expected number of target calls."""
    calls = sum(float(trace.replay.calls(gamma)) for trace in traces)
    return sum(trace.tokens for trace in traces) / calls


def calibration(traces: Sequence[Trace], column: int) -> Callable[[Reals], Reals]:
    """Returns a function from recorded confidence to the share of tokens that are accepted.

    The function rises and is piecewise linear.

    column: index of the confidence's kind in `reference.scoring.confidence`.
    """
    from scipy.optimize import isotonic_regression

    said, right, weight = _tokens(traces, column)
    order = np.argsort(said, kind="stable")
    fitted = isotonic_regression(right[order], weights=weight[order])
    first = fitted.blocks[:-1]
    weights = np.add.reduceat(weight[order], first)
    means = np.add.reduceat((weight * said)[order], first) / weights
    shares = np.clip(fitted.x[first], 0.0, 1.0)
    return lambda confidence: np.asarray(np.interp(confidence, means, shares))


def calibrated(traces: Sequence[Trace], column: int) -> list[Trace]:
    """Returns the traces with calibrated confidences; a single trace is returned unchanged."""
    halves = [calibration(traces[at::2], column) for at in (0, 1) if traces[at::2]]
    if len(halves) < 2:
        return list(traces)
    corrected = []
    for place, trace in enumerate(traces):
        assert trace.confidence is not None
        along, starts, continued = trace.confidence
        along, continued = along.astype(np.float64), continued.astype(np.float64)
        for values in (along, continued):
            values[..., column] = halves[1 - place % 2](values[..., column])
        corrected.append(replace(trace, confidence=RecordedConfidence(along, starts, continued)))
    return corrected


def reliability(traces: Sequence[Trace], column: int) -> list[dict[str, float]]:
    """Returns how often drafted tokens are accepted, by tenths of the draft's confidence.

    Each tenth that has tokens gives a dictionary: the mean confidence (`said`), the mean calibrated
    confidence (`calibrated`), the accepted share (`right`) and the expected number of `tokens`.
    """
    said, right, weight = _tokens(traces, column)
    mended = _tokens(calibrated(traces, column), column)[0]
    bins = np.minimum((said * BINS).astype(np.int64), BINS - 1)
    totals = np.bincount(bins, weight)
    names = {"said": said, "right": right, "calibrated": mended}
    sums = {name: np.bincount(bins, weight * values) for name, values in names.items()}
    return [
        {**{name: float(sums[name][at] / totals[at]) for name in sums}, "tokens": float(totals[at])}
        for at in np.flatnonzero(totals)
    ]


def _tokens(traces: Sequence[Trace], column: int) -> list[NDArray[np.float64]]:
    """Returns confidence, acceptance and weight of each token that a block can reach.

    The weight is the probability that the block accepts all earlier tokens.
    """
    columns = []
    for trace in traces:
        if trace.confidence is None:
            raise ValueError("a calibration needs traces with the draft's confidence, got none")
        right = trace.acceptance
        weight = np.ones_like(right)
        if right.ndim == 2:
            weight[:, 1:] = np.cumprod(right, axis=1)[:, :-1]
            weight *= np.arange(right.shape[1]) < np.arange(len(right), 0, -1)[:, None]
        known = weight > 0
        said = trace.confidence.along[..., column].astype(np.float64)
        columns.append((said[known], right[known], weight[known]))
    return [np.concatenate(column) for column in zip(*columns, strict=True)]
