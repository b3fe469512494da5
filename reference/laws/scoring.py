"""How likely the tokens of a given text would have been accepted, had they been drafted."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from reference.laws.laws import Dense, Laws, OneHot, overlap
from reference.laws.sampling import Sampling

# llama.cpp's draft sampler sees the 10 likeliest tokens only (common/speculative.cpp, top_k).
CANDIDATES = 10


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive positions of a text that the target generated.

    text: all ids before them, prompt included.
    tokens: the n ids there.
    p: the target's laws at each of them.
    """

    text: Sequence[int]
    tokens: Sequence[int]
    p: Laws


@dataclass(frozen=True, slots=True)
class Asked:
    """What a drafter's acceptance is asked for.

    samplings: settings under which the draft might sample, its own or others: one pass serves all.
    leniences: l of `Scores.lenient_beta`, each in (0, 1].
    max_gamma: the longest draft of interest, where a draft depends on where its block began.
    """

    samplings: Sequence[Sampling]
    leniences: Sequence[float]
    max_gamma: int


@dataclass(frozen=True, slots=True)
class Scores:
    """Acceptance at n consecutive positions of a text x that the target generated.

    beta: sum over y of min(p(y), q(y)) where a block begins at the position, shape (n,), float64
      (Leviathan et al. 2023, Theorem 5).
    ratio: q(x)/p(x), finite, shape (n,), float64; a one-hot q's may be cut to 1. For a drafter
      whose law depends on where the block began, shape (n, K): column k for a block that began k
      positions before.
    drafted: how many tokens such a drafter proposes in a block that begins at the position, shape
      (n,), int64; None: as many as it is asked for.
    rank: which of the drafter's choices x is, from 0, the likeliest; int64, the shape of ratio.
      None where the drafter makes one choice alone, or drafts but texts of its own.
    lenient_beta: beta with lenience l in place of 1, sum over y of min(p(y)/l, q(y)), a column
      for each l; shape (n, leniences), float64 (A.5).
    confidence: how sure the drafter was (`confidence`), with the shape of ratio and then 3; None
      where no law shows it.
    """

    beta: Tensor
    ratio: Tensor
    drafted: Tensor | None
    lenient_beta: Tensor
    rank: Tensor | None = None
    confidence: Tensor | None = None

    @property
    def acceptance(self) -> Tensor:
        """min(1, q(x)/p(x)), the probability that the position, if drafted, is accepted and is x.

        Given that the text is x; the shape of ratio.
        """
        return self.ratio.clamp(max=1.0)


def nothing_drafted(positions: int, asked: Asked) -> Scores:
    """Returns the scores of positions at which no block begins and that none reaches."""
    return Scores(
        beta=torch.zeros(positions, dtype=torch.float64),
        ratio=torch.zeros(positions, asked.max_gamma, dtype=torch.float64),
        drafted=torch.zeros(positions, dtype=torch.int64),
        lenient_beta=torch.zeros(positions, len(asked.leniences), dtype=torch.float64),
    )


def score_laws(stretch: Stretch, q: Laws, leniences: Sequence[float]) -> Scores:
    """Returns the scores of a drafter whose law depends on the preceding text alone."""
    p = stretch.p
    tokens = torch.tensor(stretch.tokens, device=p.device)
    ratio = q.of(tokens).double() / p.of(tokens).double()
    # p(x) = 0 for a token drawn from p: only rounding between passes can do that.
    ratio = ratio.nan_to_num(nan=0.0, posinf=torch.finfo(torch.float64).max)
    columns = [overlap(p, q), *lenient_overlaps(p, q, leniences)]
    # The rounding of a row's sum may reach beyond 1.
    betas = torch.stack(columns, dim=-1).double().clamp(max=1.0).cpu()
    rank, sure = ranks(q, tokens), confidence(q, tokens)
    return Scores(
        beta=betas[:, 0],
        ratio=ratio.cpu(),
        drafted=None,
        lenient_beta=betas[:, 1:],
        rank=None if rank is None else rank.cpu(),
        confidence=None if sure is None else sure.cpu(),
    )


def confidence(q: Laws, tokens: Tensor) -> Tensor | None:
    """Returns how sure a drafter is at each position, as engines judge it, shape (n, 3), float64.

    The columns are the largest probability, the same over the mass of the CANDIDATES likeliest
    tokens, and the probability of the given token. A one-hot law is judged by the law at
    temperature 1 that it is the argmax of; None where there is no such law.

    Args:
      q: laws at n positions.
      tokens: shape (n,), int64.
    """
    law = q.at_temperature_one() if isinstance(q, OneHot) else q
    if law is None:
        return None
    likeliest = law.probabilities.topk(min(CANDIDATES, law.probabilities.shape[-1])).values
    largest = likeliest[:, 0]
    columns = [largest, largest / likeliest.sum(dim=-1), law.of(tokens)]
    return torch.stack(columns, dim=-1).double().clamp(max=1.0)


def ranks(q: Laws, tokens: Tensor) -> Tensor | None:
    """Returns which of a drafter's choices each token is, shape (n,), int64, from 0.

    The likeliest is the first, and of tokens equally likely that of the smallest id. A token that q
    never draws is none of its choices: its rank is the vocabulary's size.

    Args:
      q: laws at n positions; one-hot ones with their logits, without which there is None.
      tokens: shape (n,), int64.
    """
    odds = q.logits if isinstance(q, OneHot) else q.probabilities
    if odds is None:
        return None
    own = odds.gather(-1, tokens[:, None])
    smaller = torch.arange(odds.shape[-1], device=odds.device) < tokens[:, None]
    rank = ((odds > own) | ((odds == own) & smaller)).sum(dim=-1)
    never = -torch.inf if isinstance(q, OneHot) else 0
    return rank.masked_fill(own.squeeze(-1) <= never, odds.shape[-1])


def lenient_overlaps(p: Laws, q: Laws, leniences: Sequence[float]) -> list[Tensor]:
    """Returns beta under each lenience l: sum over y of min(p(y)/l, q(y)), up to rounding.

    Leviathan et al. 2023, A.5. At temperature 0 it is q's mass on the tokens that lenience keeps,
    those with p(y) >= l max p, p being the law before it is made one-hot.

    Args:
      p, q: the target's and the drafter's laws at n positions; a one-hot p with its logits.

    Returns:
      for each l, shape (n,).
    """
    if isinstance(p, Dense) and isinstance(q, Dense):
        return [
            torch.minimum(p.probabilities / lenience, q.probabilities).sum(dim=-1)
            for lenience in leniences
        ]
    if isinstance(p, Dense):
        assert isinstance(q, OneHot)
        return [(p.of(q.tokens) / lenience).clamp(max=1.0) for lenience in leniences]
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
