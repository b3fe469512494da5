"""Next-token laws of consecutive positions: dense rows, or one-hot rows held as ids alone.

Every sampling method is standard sampling from an adjusted law (Leviathan et al. 2023, section
2.2). A greedy choice is the one-hot law, and a one-hot row needs no vocabulary-sized tensor.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


def draw(weights: Tensor, generator: torch.Generator) -> Tensor:
    """Returns one token for each row, drawn in proportion to the row's weights.

    The inverse of the distribution function, summed in double precision: the token is the first
    whose cumulative weight exceeds a uniform share of the total, so one without weight never is.
    `torch.multinomial` draws from the same law after checks that wait for the device once a token.

    Args:
      weights: shape (..., vocabulary), non-negative, a positive one in each row.

    Returns:
      shape (...), int64.
    """
    cumulative = weights.cumsum(dim=-1, dtype=torch.float64)
    total = cumulative[..., -1:]
    share = torch.rand(total.shape, generator=generator, dtype=torch.float64, device=weights.device)
    tokens = torch.searchsorted(cumulative, share.mul_(total), right=True).squeeze(-1)
    # Weights that are NaN, which the end of the block reports, must still give ids until then.
    return tokens.clamp_(max=weights.shape[-1] - 1)


def likeliest(logits: Tensor) -> Tensor:
    """Returns the id of each row's largest logit, the smallest of equals, shape (positions,).

    On a CPU NumPy compares many numbers at once where `torch.argmax` takes one by one; a few
    thousand are compared sooner than handed over.
    """
    on_cpu = logits.device.type == "cpu" and logits.dtype in (torch.float32, torch.float64)
    if on_cpu and logits.numel() >= 8192:
        return torch.from_numpy(logits.numpy().argmax(axis=-1))
    return logits.argmax(dim=-1)


def precise(logits: Tensor) -> Tensor:
    """Returns logits in at least single precision; half would round the laws that are compared."""
    return logits if logits.dtype == torch.float64 else logits.float()


@dataclass(frozen=True, slots=True)
class Dense:
    """Laws held as probabilities.

    probabilities: shape (positions, vocabulary); rows sum to 1.
    """

    probabilities: Tensor

    @property
    def device(self) -> torch.device:
        """Where the rows lie."""
        return self.probabilities.device

    @property
    def witness(self) -> Tensor:
        """A number of each row, finite where a law could be made of its logits, (positions,).

        Of a row of NaN, +inf or nothing but -inf a softmax makes nothing but NaN.
        """
        return self.probabilities[:, 0]

    def of(self, tokens: Tensor) -> Tensor:
        """Returns each position's probability of its token, shape (positions,)."""
        return self.probabilities.gather(-1, tokens[:, None]).squeeze(-1)

    def first(self, positions: int) -> "Dense":
        """Returns the laws of the first positions."""
        return Dense(self.probabilities[:positions])

    def at(self, positions: Tensor) -> "Dense":
        """Returns the laws of the positions with these indices, shape (n,), int64."""
        return Dense(self.probabilities[positions])

    def draw(self, generator: torch.Generator) -> Tensor:
        """Returns one token for each position, shape (positions,), int64."""
        return draw(self.probabilities, generator)

    def dense(self, vocabulary: int) -> Tensor:
        """Returns the probabilities, shape (positions, vocabulary)."""
        return self.probabilities


@dataclass(frozen=True, slots=True)
class OneHot:
    """Laws that put all mass on one token each, held as those tokens.

    tokens: shape (positions,), int64.
    logits: what each token is the largest of, shape (positions, vocabulary); None where no model
      chose. Only what looks behind a greedy choice reads them.
    """

    tokens: Tensor
    logits: Tensor | None = None

    @property
    def device(self) -> torch.device:
        """Where the rows lie."""
        return self.tokens.device

    @property
    def witness(self) -> Tensor:
        """A number of each row, finite where a law could be made of its logits, (positions,).

        The largest of a row that has NaN is NaN.
        """
        if self.logits is None:
            return torch.zeros_like(self.tokens, dtype=torch.float32)
        return self.logits.gather(-1, self.tokens[:, None])[:, 0]

    def of(self, tokens: Tensor) -> Tensor:
        """Returns 1 where a position's token is its law's, else 0; shape (positions,)."""
        return (self.tokens == tokens).to(torch.float32)

    def first(self, positions: int) -> "OneHot":
        """Returns the laws of the first positions."""
        logits = None if self.logits is None else self.logits[:positions]
        return OneHot(self.tokens[:positions], logits)

    def at(self, positions: Tensor) -> "OneHot":
        """Returns the laws of the positions with these indices, shape (n,), int64."""
        logits = None if self.logits is None else self.logits[positions]
        return OneHot(self.tokens[positions], logits)

    def draw(self, generator: torch.Generator) -> Tensor:
        """Returns the laws' own tokens; the generator is not advanced."""
        return self.tokens

    def dense(self, vocabulary: int) -> Tensor:
        """Returns the probabilities, shape (positions, vocabulary), float32."""
        rows = torch.zeros(len(self.tokens), vocabulary, device=self.tokens.device)
        return rows.scatter_(1, self.tokens[:, None], 1.0)

    def at_temperature_one(self) -> Dense | None:
        """Returns the laws that the tokens are the likeliest of, or None if nothing tells."""
        return None if self.logits is None else Dense(precise(self.logits).softmax(dim=-1))


Laws = Dense | OneHot


def concatenate(parts: list[Laws]) -> Laws:
    """Returns the laws of all parts in order, which are all dense or all one-hot."""
    one_hot = [part for part in parts if isinstance(part, OneHot)]
    if len(one_hot) == len(parts):
        logits = [part.logits for part in one_hot if part.logits is not None]
        behind = torch.cat(logits) if len(logits) == len(parts) else None
        return OneHot(torch.cat([part.tokens for part in one_hot]), behind)
    return Dense(torch.cat([part.probabilities for part in parts if isinstance(part, Dense)]))


def overlap(p: Laws, q: Laws) -> Tensor:
    """Returns beta = sum over x of min(p(x), q(x)) at each position, shape (positions,).

    Leviathan et al. 2023, Theorem 5.
    """
    if isinstance(p, OneHot):
        return q.of(p.tokens)
    if isinstance(q, OneHot):
        return p.of(q.tokens)
    return torch.minimum(p.probabilities, q.probabilities).sum(dim=-1)
