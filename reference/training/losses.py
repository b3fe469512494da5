"""What a draft model can learn from its target: labels, laws, or the acceptance rate itself."""

from collections.abc import Callable

from torch import Tensor, nn

TargetLaw = Callable[[], Tensor]
"""Computes the target's laws along the same tokens, shape (tokens, vocabulary)."""


def hard_labels(logits: Tensor, tokens: Tensor, law: TargetLaw) -> Tensor:
    """Returns the mean of -ln q(x), x the target's own token (Kim et al. 2023, section 3.5.1)."""
    return nn.functional.cross_entropy(logits, tokens)


def soft_labels(logits: Tensor, tokens: Tensor, law: TargetLaw) -> Tensor:
    """Returns the mean cross-entropy of q under the target's law p: distillation."""
    return -(law() * logits.log_softmax(dim=-1)).sum(dim=-1).mean()


def total_variation(logits: Tensor, tokens: Tensor, law: TargetLaw) -> Tensor:
    """Returns the mean of 1 - sum min(p, q), which is 1 - alpha.

    Leviathan et al. 2023, section 6: "optimizing M_q for alpha directly".
    """
    return 1 - law().minimum(logits.softmax(dim=-1)).sum(dim=-1).mean()


LOSSES = {"hard": hard_labels, "soft": soft_labels, "tv": total_variation}
