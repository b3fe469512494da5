"""How likely each token of a given text would have been accepted, had it been drafted."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from reference.laws.laws import Laws, overlap


@dataclass(frozen=True, slots=True)
class Scores:
    """Acceptance along a text x of N tokens that the target generated.

    beta: sum over y of min(p(y), q(y)) at each position, shape (N,), float64 (Leviathan et al.
      2023, Theorem 5).
    acceptance: min(1, q(x)/p(x)), the probability that a drafted position is accepted and is x,
      given that the text is x; shape (N,), float64. For a drafter whose draft depends on where
      the block began, shape (N, K): row t for the block that begins at t.
    drafted: how many tokens such a drafter proposes from t, shape (N,), int64; None: as many as
      it is asked for.
    """

    beta: Tensor
    acceptance: Tensor
    drafted: Tensor | None = None


def score_laws(p: Laws, q: Laws, continuation: Sequence[int]) -> Scores:
    """Returns the scores of a drafter whose law depends on the preceding text alone.

    Args:
      p, q: the target's and the drafter's laws at each position of the continuation.
      continuation: the text's ids, shape (N,).
    """
    tokens = torch.tensor(continuation, device=p.device)
    ratio = q.of(tokens).double() / p.of(tokens).double()
    # 0/0 needs p(x) = 0 for a token drawn from p: only rounding between passes can do that.
    acceptance = ratio.nan_to_num(nan=0.0, posinf=1.0).clamp(max=1.0)
    return Scores(overlap(p, q).double().cpu(), acceptance.cpu())
