"""Scores of a given text: the probability that each of its tokens is drafted and accepted."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from reference.laws import Dense, Laws, OneHot, Sampling, overlap

# llama.cpp's draft sampler sees the 10 likeliest tokens only (common/speculative.cpp, top_k).
CANDIDATES = 10


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive positions of a text that the target generated.

    text: all ids before these positions, prompt included.
    tokens: the n ids at these positions.
    p: the target's distribution at each of these positions.
    """

    text: Sequence[int]
    tokens: Sequence[int]
    p: Laws


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """The settings for which a drafter is scored.

    samplings: sampling settings of the draft; one pass serves all of them.
    leniences: values l in (0, 1] for which `Scores.lenient_beta` has a column.
    max_gamma: length of the longest draft (K), for drafters that depend on where the block began.
    """

    samplings: Sequence[Sampling]
    leniences: Sequence[float]
    max_gamma: int


@dataclass(frozen=True, slots=True)
class Scores:
    """Acceptance at n consecutive positions of a text x that the target generated.

    At each position p is the target's distribution and q the drafter's.

    beta: sum over y of min(p(y), q(y)) if a block begins at the position (Leviathan et al. 2023,
      Theorem 5), shape (n,), float64.
    ratio: q(x)/p(x), finite, shape (n,), float64; for a one-hot q it may be cut to 1. For drafters
      that depend on where the block began: shape (n, K), column k for a block that began k
      positions earlier.
    drafted: number of tokens that a block beginning at the position proposes, shape (n,), int64;
      None if the drafter always proposes as many as requested.
    lenient_beta: sum over y of min(p(y)/l, q(y)) for each lenience l (A.5), shape (n, leniences),
      float64.
    rank: rank of x among the drafter's choices, from 0, int64, shape of `ratio`; None if the
      drafter has one choice only.
    confidence: the three measures of the function `confidence`, shape of `ratio` with a last axis
      of 3; None if the drafter has no distribution.
    """

    beta: Tensor
    ratio: Tensor
    drafted: Tensor | None
    lenient_beta: Tensor
    rank: Tensor | None = None
    confidence: Tensor | None = None

    @property
    def acceptance(self) -> Tensor:
        """Probability min(1, q(x)/p(x)) that x, if emitted, was drafted; shape of `ratio`."""
        return self.ratio.clamp(max=1.0)


def nothing_drafted(positions: int, options: ScoreOptions) -> Scores:
    """Returns the scores of positions for which no block drafts a token."""
    return Scores(
        beta=torch.zeros(positions, dtype=torch.float64),
        ratio=torch.zeros(positions, options.max_gamma, dtype=torch.float64),
        drafted=torch.zeros(positions, dtype=torch.int64),
        lenient_beta=torch.zeros(positions, len(options.leniences), dtype=torch.float64),
    )


def score_laws(stretch: Stretch, q: Laws, leniences: Sequence[float]) -> Scores:
    """Returns the scores of a drafter whose distribution depends only on the preceding text."""
    p = stretch.p
    tokens = torch.tensor(stretch.tokens, device=p.device)
    ratio = q.of(tokens).double() / p.of(tokens).double()
    # p(x) = 0 for a token drawn from p happens only through rounding between passes.
    ratio = ratio.nan_to_num(nan=0.0, posinf=torch.finfo(torch.float64).max)
    columns = [overlap(p, q), *lenient_overlaps(p, q, leniences)]
    # Through rounding a row's sum may exceed 1.
    betas = torch.stack(columns, dim=-1).double().clamp(max=1.0).cpu()
    rank, sure = (
        None if column is None else column.cpu()
        for column in (ranks(q, tokens), confidence(q, tokens))
    )
    return Scores(betas[:, 0], ratio.cpu(), None, betas[:, 1:], rank, sure)


def confidence(q: Laws, tokens: Tensor) -> Tensor | None:
    """Returns three measures of how sure a drafter is at each position, shape (n, 3), float64.

    They are the largest probability, its share in the sum of the CANDIDATES largest, and the given
    token's probability. A one-hot q is measured at temperature 1; without logits it gives None.
    """
    law = q.at_temperature_one() if isinstance(q, OneHot) else q
    if law is None:
        return None
    likeliest = law.probabilities.topk(min(CANDIDATES, law.probabilities.shape[-1])).values
    largest = likeliest[:, 0]
    columns = [largest, largest / likeliest.sum(dim=-1), law.of(tokens)]
    return torch.stack(columns, dim=-1).double().clamp(max=1.0)


def ranks(q: Laws, tokens: Tensor) -> Tensor | None:
    """Returns the rank of each token among a drafter's choices, shape (n,), int64.

    Rank 0 is the likeliest token; ties go to the smallest id. A token that q never draws has the
    vocabulary's size as its rank. Returns None if q is one-hot without logits.
    """
    odds = q.logits if isinstance(q, OneHot) else q.probabilities
    if odds is None:
        return None
    drafted = odds.gather(-1, tokens[:, None])
    smaller = torch.arange(odds.shape[-1], device=odds.device) < tokens[:, None]
    rank = ((odds > drafted) | ((odds == drafted) & smaller)).sum(dim=-1)
    never = -torch.inf if isinstance(q, OneHot) else 0
    return rank.masked_fill(drafted.squeeze(-1) <= never, odds.shape[-1])


def lenient_overlaps(p: Laws, q: Laws, leniences: Sequence[float]) -> list[Tensor]:
    """Returns beta under each lenience l: sum over y of min(p(y)/l, q(y)), shape (n,) each.

    Leviathan et al. 2023, A.5. At temperature 0 (a one-hot p with logits), beta is q's total
    probability of the tokens y with p(y) >= l max p, where p is taken at temperature 1.
    """
    if isinstance(p, Dense) and isinstance(q, OneHot):
        return [(p.of(q.tokens) / lenience).clamp(max=1.0) for lenience in leniences]
    if isinstance(p, Dense):
        return [overlap(Dense(p.probabilities / lenience), q) for lenience in leniences]
    if not leniences:
        return []
    hidden = p.at_temperature_one()
    assert hidden is not None
    odds = hidden.probabilities
    largest = odds.amax(dim=-1, keepdim=True)
    if isinstance(q, OneHot):
        drafted, largest = hidden.of(q.tokens), largest.squeeze(-1)
        return [(drafted >= lenience * largest).to(odds.dtype) for lenience in leniences]
    return [(q.probabilities * (odds >= lenience * largest)).sum(dim=-1) for lenience in leniences]
