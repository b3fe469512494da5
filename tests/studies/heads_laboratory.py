"""Heads on tabular models, for tests of their drafts."""

import torch
from torch import nn

from reference.drafter import Drafter
from reference.laws import Sampling
from studies.blockwise.heads import Heads, HeadsDrafter
from tests.reference.tabular import TabularModel


def random_heads(seed: int, *, heads: int, width: int, spread: float = 0.6) -> Heads:
    """Returns heads in float64 that differ from one another and from the model's own."""
    generator = torch.Generator().manual_seed(seed)
    made = Heads(heads=heads, width=width, hidden=4).double()
    with torch.no_grad():
        for parameter in made.parameters():
            values = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(spread * values)
    return made.eval()


def random_embedding(seed: int, width: int, vocabulary: int) -> nn.Linear:
    embedding = nn.Linear(width, vocabulary, bias=False, dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        embedding.weight.copy_(
            torch.randn(vocabulary, width, generator=generator, dtype=torch.float64)
        )
    return embedding


def heads_drafter(
    target: TabularModel, sampling: Sampling, *, heads: int = 4, seed: int = 5
) -> Drafter:
    """Returns a drafter whose heads read the probabilities that a table's text is followed by."""
    width = target.vocabulary
    return HeadsDrafter(
        target,
        random_heads(seed, heads=heads, width=width),
        random_embedding(seed + 1, width, width),
        sampling,
        name="heads",
    )
