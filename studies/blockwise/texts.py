"""A target's greedy text and its heads' output at every position: the input of all analyses.

At temperature 0 a block depends only on the text before it, so every way to choose from the lattice
is replayed along one text.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from reference.laws import Sampling
from reference.models.model import Model
from reference.records import Stopping
from reference.speculative import plain_session
from studies.blockwise.best_paths import Automaton, Lattice, best_paths, lattice_of, read_lattice
from studies.blockwise.heads import HeadsDrafter

Drafts = NDArray[np.int64]
"""Ids, shape (blocks, steps) for one draft per block, or (blocks, p, steps)."""


@dataclass(frozen=True, slots=True)
class BlockText:
    """One text, with the lattice of the block that begins at each position except the first.

    before: the ids before the first block.
    tokens: the following ids, shape (N,), int64; a block begins at each of them.
    arcs, scores: the lattices' tokens, likeliest first, and log-probabilities, (N, h - 1, k).
    entropy: entropy of each head's distribution, the model's own first, in nats, shape (N, h).
    """

    before: tuple[int, ...]
    tokens: NDArray[np.int64]
    arcs: NDArray[np.int64]
    scores: NDArray[np.float64]
    entropy: NDArray[np.float64]

    @property
    def steps(self) -> int:
        """Number of drafted tokens in a block: one for each head except the model's own."""
        return int(self.arcs.shape[1])

    @property
    def own(self) -> NDArray[np.int64]:
        """The token before each block, chosen by the model's own head, shape (N,)."""
        return np.concatenate([[self.before[-1]], self.tokens[:-1]])

    def ahead(self) -> NDArray[np.int64]:
        """Returns the text's h - 1 tokens from each position on, shape (N, h - 1).

        Positions beyond the text are -1, which is not an id.
        """
        padded = np.concatenate([self.tokens, np.full(self.steps - 1, -1)])
        return np.lib.stride_tricks.sliding_window_view(padded, self.steps)

    def text(self, start: int) -> list[int]:
        """Returns the ids before the block that begins at a position."""
        return [*self.before, *self.tokens[:start].tolist()]


@torch.inference_mode()
def block_text(
    target: Model, drafter: HeadsDrafter, prompt: Sequence[int], *, stopping: Stopping, k: int
) -> BlockText | None:
    """Returns the target's greedy text with its blocks' lattices; None if it is one token long."""
    generation = plain_session(
        target, prompt, sampling=Sampling(0.0), stopping=stopping, generator=torch.Generator()
    ).finished()
    if len(generation.tokens) < 2:
        return None
    target.start(prompt)
    # One pass computes all states; the first block needs the state of the prompt's last but one.
    fed = torch.tensor([generation.text[-1], *generation.tokens[:-1]], device=target.device)
    own_laws = target.extend(fed).float().log_softmax(dim=-1)
    whole = [*generation.text, *generation.tokens]
    lattices, entropies = [], []
    for start in range(1, len(generation.tokens)):
        logits = drafter.logits(whole[: len(generation.text) + start], drafter.heads.count - 1)
        assert logits is not None
        laws = logits.float().log_softmax(dim=-1)
        lattices.append(lattice_of(laws.cpu().numpy(), k))
        laws = torch.cat([own_laws[start - 1 : start], laws])
        entropies.append(-(laws.exp() * laws).nansum(dim=-1).cpu().numpy())
    return BlockText(
        before=(*generation.text, generation.tokens[0]),
        tokens=np.array(generation.tokens[1:], np.int64),
        arcs=np.stack([lattice.tokens for lattice in lattices]),
        scores=np.stack([lattice.scores for lattice in lattices]),
        entropy=np.stack(entropies).astype(np.float64),
    )


def path_drafts(
    text: BlockText, weights: Sequence[float], *, automaton: Automaton | None, count: int
) -> list[Drafts]:
    """Returns the p best paths of each block's lattice for each weight, shape (blocks, p, steps).

    A path has one of the k likeliest tokens of each head.

    automaton: an n-gram model; None: only the heads' scores count.
    weights: factors of the n-gram model's log-probabilities.
    count: p, at most the number of paths in a lattice.
    """
    by_weight: list[list[Drafts]] = [[] for _ in weights]
    for start, lattice in enumerate(map(Lattice, text.arcs, text.scores)):
        arcs = read_lattice(lattice, automaton, text.text(start))
        for weight, of_weight in zip(weights, by_weight, strict=True):
            of_weight.append(best_paths(lattice, arcs, count=count, weight=weight)[0])
    return [np.stack(of_weight) for of_weight in by_weight]


@torch.inference_mode()
def local_drafts(text: BlockText, weights: Sequence[float], *, model: Model) -> list[Drafts]:
    """Returns the drafts of `LocalRescoring` for all blocks and each weight, shape (blocks, steps).

    All blocks branch off one text, so one pass per step reads all blocks as a tree. The model must
    be able to read trees, and its context length must cover the text and a block.
    """
    blocks, chosen_by_weight = np.arange(len(text.tokens)), []
    for weight in weights:
        fed = text.text(len(blocks))
        parents = list(range(-1, len(fed) - 1))
        last = len(text.before) - 1 + blocks  # where each block's text ends
        chosen = np.empty((len(blocks), text.steps), np.int64)
        for step in range(text.steps):
            model.start(fed[:1])
            logits = model.extend(torch.tensor(fed, device=model.device), parents)
            arcs = torch.from_numpy(text.arcs[:, step]).to(logits.device)
            rows = torch.from_numpy(last).to(logits.device)
            rescoring = logits[rows].gather(1, arcs).double().cpu().numpy()
            place = np.argmax(text.scores[:, step] + weight * rescoring, axis=1)
            chosen[:, step] = text.arcs[blocks, step, place]
            parents += last.tolist()
            last = len(fed) + blocks
            fed += chosen[:, step].tolist()
        chosen_by_weight.append(chosen)
    return chosen_by_weight
