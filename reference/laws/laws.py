"""Laws: next-token probability distributions at consecutive positions.

`Dense` holds rows of probabilities; `OneHot` holds only the token of each greedy choice. Every
sampling method is standard sampling from an adjusted distribution (Leviathan et al. 2023, section
2.2).
"""

from dataclasses import dataclass

import torch
from torch import Tensor


def draw(weights: Tensor, generator: torch.Generator) -> Tensor:
    """Returns one token per row, drawn in proportion to the row's weights; shape (...), int64.

    It is the first token whose cumulative weight, in double precision, exceeds a uniform share of
    the total, so a token of weight 0 is never drawn. `torch.multinomial` draws from the same
    distribution, but its checks wait for the device.

    weights: shape (..., vocabulary), not negative, with a positive entry in each row.
    """
    cumulative = weights.cumsum(dim=-1, dtype=torch.float64)
    total = cumulative[..., -1:]
    share = torch.rand(total.shape, generator=generator, dtype=torch.float64, device=weights.device)
    tokens = torch.searchsorted(cumulative, share.mul_(total), right=True).squeeze(-1)
    # NaN weights are reported at the end of the block; until then the ids must be valid.
    return tokens.clamp_(max=weights.shape[-1] - 1)


def likeliest(logits: Tensor) -> Tensor:
    """Returns the id of each row's largest logit, ties to the smallest id, shape (positions,)."""
    on_cpu = logits.device.type == "cpu" and logits.dtype in (torch.float32, torch.float64)
    # On a CPU `torch.argmax` compares one by one; NumPy is faster except for a few thousand.
    if on_cpu and logits.numel() >= 8192:
        return torch.from_numpy(logits.numpy().argmax(axis=-1))
    return logits.argmax(dim=-1)


def precise(logits: Tensor) -> Tensor:
    """Returns logits in at least single precision; half precision would round the distribution."""
    return logits if logits.dtype == torch.float64 else logits.float()


@dataclass(frozen=True, slots=True)
class Dense:
    """Distributions held as probabilities.

    probabilities: shape (positions, vocabulary); rows sum to 1.
    """

    probabilities: Tensor

    @property
    def device(self) -> torch.device:
        return self.probabilities.device

    @property
    def witness(self) -> Tensor:
        """One number per row, finite exactly where the row is a distribution; (positions,).

        A softmax of logits with NaN or +inf, or of -inf only, is NaN throughout.
        """
        return self.probabilities[:, 0]

    def of(self, tokens: Tensor) -> Tensor:
        """Returns the probability of one token per position, shape (positions,)."""
        return self.probabilities.gather(-1, tokens[:, None]).squeeze(-1)

    def first(self, positions: int) -> "Dense":
        return Dense(self.probabilities[:positions])

    def at(self, positions: Tensor) -> "Dense":
        """Returns the distributions of some positions; indices of shape (n,), int64."""
        return Dense(self.probabilities[positions])

    def draw(self, generator: torch.Generator) -> Tensor:
        """Returns one token for each position, shape (positions,), int64."""
        return draw(self.probabilities, generator)

    def dense(self, vocabulary: int) -> Tensor:
        """Returns the probabilities, shape (positions, vocabulary)."""
        return self.probabilities


@dataclass(frozen=True, slots=True)
class OneHot:
    """Distributions that put all probability on one token each; methods as in `Dense`.

    tokens: shape (positions,), int64.
    logits: the logits whose argmax the tokens are, shape (positions, vocabulary); None if no model
      computed them.
    """

    tokens: Tensor
    logits: Tensor | None = None

    @property
    def device(self) -> torch.device:
        return self.tokens.device

    @property
    def witness(self) -> Tensor:
        """One number per row, finite exactly where the logits were; shape (positions,)."""
        if self.logits is None:
            return torch.zeros_like(self.tokens, dtype=torch.float32)
        return self.logits.gather(-1, self.tokens[:, None])[:, 0]

    def of(self, tokens: Tensor) -> Tensor:
        return (self.tokens == tokens).to(torch.float32)

    def first(self, positions: int) -> "OneHot":
        logits = None if self.logits is None else self.logits[:positions]
        return OneHot(self.tokens[:positions], logits)

    def at(self, positions: Tensor) -> "OneHot":
        logits = None if self.logits is None else self.logits[positions]
        return OneHot(self.tokens[positions], logits)

    def draw(self, generator: torch.Generator) -> Tensor:
        """Returns the tokens themselves; the generator is not advanced."""
        return self.tokens

    def dense(self, vocabulary: int) -> Tensor:
        rows = torch.zeros(len(self.tokens), vocabulary, device=self.tokens.device)
        return rows.scatter_(1, self.tokens[:, None], 1.0)

    def at_temperature_one(self) -> Dense | None:
        """Returns softmax(logits), the distributions before the argmax; None without logits."""
        return None if self.logits is None else Dense(precise(self.logits).softmax(dim=-1))


Laws = Dense | OneHot


def concatenate(parts: list[Laws]) -> Laws:
    """Returns the distributions of all parts in order; all parts are dense, or all one-hot."""
    one_hot = [part for part in parts if isinstance(part, OneHot)]
    if len(one_hot) == len(parts):
        logits = [part.logits for part in one_hot if part.logits is not None]
        behind = torch.cat(logits) if len(logits) == len(parts) else None
        return OneHot(torch.cat([part.tokens for part in one_hot]), behind)
    return Dense(torch.cat([part.probabilities for part in parts if isinstance(part, Dense)]))


def overlap(p: Laws, q: Laws) -> Tensor:
    """Returns beta = sum over x of min(p(x), q(x)), (positions,) (Leviathan et al., Theorem 5)."""
    if isinstance(p, OneHot):
        return q.of(p.tokens)
    if isinstance(q, OneHot):
        return p.of(q.tokens)
    return torch.minimum(p.probabilities, q.probabilities).sum(dim=-1)
