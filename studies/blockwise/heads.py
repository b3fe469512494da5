"""Blockwise heads: a model with h of them predicts the next h tokens at once.

Stern et al. 2018; Kim et al. 2024 (blockwise drafts), section 4: "h distinct feedforward layers
with a single hidden layer, atop the target LM's final hidden layer", whose softmax layers share
one embedding. The first of the h is the model's own and has no network here.
"""

import torch
from torch import Tensor, nn


class Heads(nn.Module):
    """The h - 1 further heads: what each puts in place of the state that the embedding reads.

        f_j(s) = s + down_j relu(up_j s + a_j) + b_j,     j = 2..h

    down and b begin at 0, where every head repeats the first. All heads are two products.
    """

    def __init__(self, *, heads: int, width: int, hidden: int) -> None:
        """Makes untrained heads.

        Args:
          heads: h, the model's own included, at least 2.
          hidden: width of the hidden layers, at least 1.
        """
        super().__init__()
        if heads < 2:
            raise ValueError(f"heads must be at least 2, the model's own included, got {heads}")
        if hidden < 1:
            raise ValueError(f"hidden must be at least 1, got {hidden}")
        self.up = nn.Parameter(torch.randn(heads - 1, width, hidden) * width**-0.5)
        self.up_bias = nn.Parameter(torch.zeros(heads - 1, 1, hidden))
        self.down = nn.Parameter(torch.zeros(heads - 1, hidden, width))
        self.down_bias = nn.Parameter(torch.zeros(heads - 1, 1, width))

    @property
    def count(self) -> int:
        """h, the model's own head included."""
        return self.up.shape[0] + 1

    @property
    def width(self) -> int:
        """Of the model's states."""
        return self.up.shape[1]

    @property
    def hidden(self) -> int:
        """Width of the hidden layers."""
        return self.up.shape[2]

    def forward(self, states: Tensor, first: int | None = None) -> Tensor:
        """Returns what the output embedding reads for each further head.

        Args:
          states: shape (positions, width).
          first: how many of the further heads are wanted; None: all.

        Returns:
          shape (heads, positions, width).
        """
        up, down = self.up[:first], self.down[:first]
        inner = torch.baddbmm(self.up_bias[:first], states.expand(len(up), -1, -1), up)
        return states + torch.baddbmm(self.down_bias[:first], inner.relu(), down)
