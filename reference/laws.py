"""Laws: next-token distributions, and the sampling settings that make them from logits.

Leviathan et al. 2023, section 2.2: every sampling method is standard sampling from an adjusted
distribution.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor

from reference.sampling_ranges import require_sampling


def draw(weights: Tensor, generator: torch.Generator) -> Tensor:
    """Returns one token per row, drawn in proportion to the row's weights; shape (...), int64.

    The token is the first whose cumulative weight, in double precision, exceeds a uniform share of
    the total: weight 0 is never drawn. `torch.multinomial` would make the CPU wait for the device.

    weights: shape (..., vocabulary), not negative, with a positive entry in each row.
    """
    cumulative = weights.cumsum(dim=-1, dtype=torch.float64)
    total = cumulative[..., -1:]
    share = torch.rand(total.shape, generator=generator, dtype=torch.float64, device=weights.device)
    tokens = torch.searchsorted(cumulative, share.mul_(total), right=True).squeeze(-1)
    # NaN weights are reported at the end of the block; until then the ids must be valid.
    return tokens.clamp_(max=weights.shape[-1] - 1)


def likeliest(logits: Tensor) -> Tensor:
    """Returns the id of each row's largest logit (of ties, the smallest id), shape (positions,)."""
    # On a CPU `torch.argmax` compares one by one.
    if logits.is_cpu and logits.dtype in (torch.float32, torch.float64):
        return torch.from_numpy(logits.numpy().argmax(axis=-1))
    return logits.argmax(dim=-1)


def precise(logits: Tensor) -> Tensor:
    """Returns the logits in at least single precision; half precision rounds too coarsely."""
    return logits if logits.dtype == torch.float64 else logits.float()


@dataclass(frozen=True, slots=True)
class Dense:
    """Distributions as probabilities, shape (positions, vocabulary); rows sum to 1."""

    probabilities: Tensor

    @property
    def device(self) -> torch.device:
        return self.probabilities.device

    @property
    def witness(self) -> Tensor:
        """One number per row, NaN where the logits gave no distribution; shape (positions,)."""
        # A softmax of logits with NaN or +inf, or of -inf only, is NaN throughout.
        return self.probabilities[:, 0]

    def of(self, tokens: Tensor) -> Tensor:
        """Returns the probability of each position's token in `tokens`, shape (positions,)."""
        return self.probabilities.gather(-1, tokens[:, None]).squeeze(-1)

    def first(self, positions: int) -> "Dense":
        return Dense(self.probabilities[:positions])

    def at(self, positions: Tensor) -> "Dense":
        """Returns the distributions at these positions."""
        return Dense(self.probabilities.index_select(0, positions))

    def split(self) -> "list[Dense]":
        """Returns the distribution of each position by itself."""
        return [Dense(row) for row in self.probabilities[:, None].unbind()]

    def draw(self, generator: torch.Generator) -> Tensor:
        """Returns one token per position, shape (positions,), int64."""
        return draw(self.probabilities, generator)

    def dense(self, vocabulary: int) -> Tensor:
        """Returns the probabilities, shape (positions, vocabulary)."""
        return self.probabilities


@dataclass(frozen=True, slots=True)
class OneHot:
    """Distributions that each put all probability on one token; it has the methods of `Dense`.

    tokens: shape (positions,), int64.
    logits: the logits whose argmax the tokens are, shape (positions, vocabulary); None if no model
      computed any.
    """

    tokens: Tensor
    logits: Tensor | None = None

    @property
    def device(self) -> torch.device:
        return self.tokens.device

    @property
    def witness(self) -> Tensor:
        """One number per row, finite if and only if the row's logits were; shape (positions,)."""
        if self.logits is None:
            return torch.zeros_like(self.tokens, dtype=torch.float32)
        return self.logits.gather(-1, self.tokens[:, None])[:, 0]

    def of(self, tokens: Tensor) -> Tensor:
        return (self.tokens == tokens).to(torch.float32)

    def first(self, positions: int) -> "OneHot":
        logits = None if self.logits is None else self.logits[:positions]
        return OneHot(self.tokens[:positions], logits)

    def at(self, positions: Tensor) -> "OneHot":
        logits = None if self.logits is None else self.logits.index_select(0, positions)
        return OneHot(self.tokens.index_select(0, positions), logits)

    def split(self) -> "list[OneHot]":
        tokens = self.tokens[:, None].unbind()
        if self.logits is None:
            return list(map(OneHot, tokens))
        return list(map(OneHot, tokens, self.logits[:, None].unbind()))

    def draw(self, generator: torch.Generator) -> Tensor:
        """Returns `tokens`; does not use the generator."""
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
    dense = [part.probabilities for part in parts if isinstance(part, Dense)]
    if dense:
        return Dense(torch.cat(dense))
    logits = [part.logits for part in parts if isinstance(part, OneHot) and part.logits is not None]
    behind = torch.cat(logits) if len(logits) == len(parts) else None
    return OneHot(torch.cat([part.tokens for part in parts if isinstance(part, OneHot)]), behind)


def overlap(p: Laws, q: Laws) -> Tensor:
    """Returns beta = sum over x of min(p(x), q(x)), shape (positions,) (Leviathan, Theorem 5)."""
    if isinstance(p, OneHot):
        return q.of(p.tokens)
    if isinstance(q, OneHot):
        return p.of(q.tokens)
    return torch.minimum(p.probabilities, q.probabilities).sum(dim=-1)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How logits become a next-token distribution (Leviathan et al. 2023, section 2.2).

    The settings apply in transformers' order: repetition penalty, temperature, top-k, top-p, min-p.

    temperature: 0 for the one-hot argmax (ties go to the smallest id), or at least 1e-6, so that
      no logit overflows.
    top_k: keep the k largest logits (and their ties); None keeps all.
    top_p: keep the smallest set of tokens whose probability reaches top_p, in (0, 1].
    min_p: drop tokens below min_p times the largest probability, in [0, 1].
    repetition_penalty: above 0. For tokens already in the text, positive logits are divided by it
      and negative logits are multiplied by it (Keskar et al. 2019). 1 changes nothing.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        require_sampling(**asdict(self))

    @property
    def greedy(self) -> bool:
        """Whether every distribution is one-hot."""
        return self.temperature == 0

    def laws(self, logits: Tensor, text: Sequence[int], drafted: Sequence[Tensor] = ()) -> Laws:
        """Returns the distributions of consecutive positions.

        logits: shape (positions, vocabulary). The last row predicts the token after `text` and
          `drafted`, the row before it the last token of `drafted`, and so on.
        text: the ids before `drafted`, which the repetition penalty needs.
        drafted: the ids after the text, in parts of shape (n,), int64.
        """
        if self.repetition_penalty != 1:
            logits = self._penalised(precise(logits), text, drafted)
        if self.greedy:
            return OneHot(likeliest(logits), logits)
        logits = precise(logits)
        if self.temperature != 1:
            logits = logits / self.temperature
        if self.top_k is not None and self.top_k < logits.shape[-1]:
            least = logits.topk(self.top_k, dim=-1).values[:, -1:]
            logits = logits.masked_fill(logits < least, -torch.inf)
        if self.top_p < 1:
            logits = self._nucleus(logits)
        probabilities = logits.softmax(dim=-1)
        if self.min_p > 0:
            least = self.min_p * probabilities.amax(dim=-1, keepdim=True)
            probabilities = logits.masked_fill(probabilities < least, -torch.inf).softmax(dim=-1)
        return Dense(probabilities)

    def _nucleus(self, logits: Tensor) -> Tensor:
        ascending, order = logits.sort(dim=-1)
        below = ascending.softmax(dim=-1).cumsum(dim=-1) <= 1 - self.top_p
        below[:, -1] = False
        return logits.masked_fill(below.scatter(-1, order, below), -torch.inf)

    def _penalised(self, logits: Tensor, text: Sequence[int], drafted: Sequence[Tensor]) -> Tensor:
        rows, vocabulary = logits.shape
        ids = torch.cat([torch.tensor(text, device=logits.device), *drafted])
        # Row 0 follows all but the last rows - 1 ids, each later row one id more.
        seen_from = torch.arange(rows - len(ids), rows, device=logits.device).clamp_(min=0)
        first_row = torch.full((vocabulary,), rows, device=logits.device)
        first_row.scatter_reduce_(0, ids, seen_from, "amin")
        seen = torch.arange(rows, device=logits.device)[:, None] >= first_row
        penalised = torch.where(
            logits < 0, logits * self.repetition_penalty, logits / self.repetition_penalty
        )
        return torch.where(seen, penalised, logits)


def seeded(device: torch.device, *seed: int) -> torch.Generator:
    """Returns a random generator seeded by these numbers."""
    # SeedSequence ignores trailing zeros, hence the length.
    state = np.random.SeedSequence((len(seed), *seed)).generate_state(1, np.uint64)[0]
    return torch.Generator(device).manual_seed(int(state) >> 1)
