"""A target's greedy text and what its heads say at every position: all that analyses need.

At temperature 0 a block that begins at a position is a function of the text, so every way to
choose from the lattice is replayed along one text instead of decoded anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from reference.generation import decode
from reference.laws.sampling import Sampling
from reference.models.model import Model
from reference.stopping import Stopping
from studies.blockwise.drafter import HeadsDrafter
from studies.blockwise.lattice.best_paths import Lattice, lattice_of


@dataclass(frozen=True, slots=True)
class BlockText:
    """One text and the lattices of the blocks that begin at its positions but the first.

    before: the ids before the first of these blocks.
    tokens: the ids from there on, shape (N,), int64; a block begins at each.
    lattices: shape (N,), of h - 1 steps.
    entropy: of each head's law, the model's own first, in nats, shape (N, h).
    """

    before: tuple[int, ...]
    tokens: NDArray[np.int64]
    lattices: tuple[Lattice, ...]
    entropy: NDArray[np.float64]

    def ahead(self) -> NDArray[np.int64]:
        """Returns the tokens of the block that begins at each position, shape (N, h - 1).

        What would lie beyond the text is -1, which is no id.
        """
        steps = self.lattices[0].steps
        padded = np.concatenate([self.tokens, np.full(steps - 1, -1)])
        return np.lib.stride_tricks.sliding_window_view(padded, steps)

    def text(self, start: int) -> list[int]:
        """Returns the ids before the block that begins at a position."""
        return [*self.before, *self.tokens[:start].tolist()]


@torch.inference_mode()
def block_text(
    target: Model,
    drafter: HeadsDrafter,
    prompt: Sequence[int],
    *,
    stopping: Stopping,
    k: int,
) -> BlockText | None:
    """Returns the target's greedy continuation with its blocks; None where it is one token."""
    own = decode(
        target, prompt, sampling=Sampling(0.0), stopping=stopping, generator=torch.Generator()
    )
    if len(own.tokens) < 2:
        return None
    target.start(prompt)
    # One pass leaves the state of every position; the first block's is the prompt's last but one.
    fed = torch.tensor([own.text[-1], *own.tokens[:-1]], device=target.device)
    own_laws = target.extend(fed).float().log_softmax(dim=-1)
    whole = [*own.text, *own.tokens]
    lattices, entropies = [], []
    for start in range(1, len(own.tokens)):
        logits = drafter.logits(whole[: len(own.text) + start], drafter.heads.count - 1)
        assert logits is not None
        laws = logits.float().log_softmax(dim=-1)
        lattices.append(lattice_of(laws.cpu().numpy(), k))
        laws = torch.cat([own_laws[start - 1 : start], laws])
        entropies.append(-(laws.exp() * laws).nansum(dim=-1).cpu().numpy())
    return BlockText(
        before=(*own.text, own.tokens[0]),
        tokens=np.array(own.tokens[1:], np.int64),
        lattices=tuple(lattices),
        entropy=np.stack(entropies).astype(np.float64),
    )
