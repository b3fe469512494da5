"""The drafts of every block of a text, by each way to choose them from the lattice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from reference.models.model import Model
from studies.blockwise.lattice.automaton import Automaton
from studies.blockwise.lattice.best_paths import best_of, read_lattice
from studies.blockwise.texts import BlockText

Drafts = NDArray[np.int64]
"""Ids, shape (blocks, steps) of one draft each, or (blocks, p, steps)."""


def heads_drafts(text: BlockText) -> Drafts:
    """Returns the heads' own drafts: each one's likeliest token."""
    return np.stack([lattice.tokens[:, 0] for lattice in text.lattices])


def path_drafts(
    text: BlockText, automaton: Automaton | None, weights: Sequence[float], *, count: int
) -> list[Drafts]:
    """Returns the p best paths of each block's lattice with each of some weights.

    Args:
      automaton: of an n-gram model; None: the heads' scores alone.
      weights: of the n-gram, each at least 0.
      count: p, at most the paths of a lattice.

    Returns:
      by weight, shape (blocks, p, steps).
    """
    found: list[list[Drafts]] = [[] for _ in weights]
    for start, lattice in enumerate(text.lattices):
        reading = read_lattice(lattice, automaton, text.text(start))
        for weight, of_weight in zip(weights, found, strict=True):
            of_weight.append(best_of(lattice, reading, count=count, weight=weight).tokens)
    return [np.stack(of_weight) for of_weight in found]


@torch.inference_mode()
def local_drafts(text: BlockText, model: Model, weight: float) -> Drafts:
    """Returns the drafts of local rescoring, all blocks at once, shape (blocks, steps).

    Step by step as `LocalRescoring` (`studies.blockwise.lattice.rescoring`), but that the blocks
    of all positions branch off one text and are read in one pass a step.

    Args:
      model: the rescorer, which reads trees; it must have positions for text and block.
      weight: alpha, at least 0.
    """
    tokens = np.stack([lattice.tokens for lattice in text.lattices])
    scores = np.stack([lattice.scores for lattice in text.lattices])
    blocks, steps, _ = tokens.shape
    fed = text.text(blocks)
    parents = list(range(-1, len(fed) - 1))
    last = len(text.before) - 1 + np.arange(blocks)   # where each block's text ends
    chosen = np.empty((blocks, steps), np.int64)
    for step in range(steps):
        model.start(fed[:1])
        logits = model.extend(torch.tensor(fed, device=model.device), parents)
        arcs = torch.from_numpy(tokens[:, step]).to(logits.device)
        rows = torch.from_numpy(last).to(logits.device)
        rescoring = logits[rows].gather(1, arcs).double().cpu().numpy()
        place = np.argmax(scores[:, step] + weight * rescoring, axis=1)
        chosen[:, step] = tokens[np.arange(blocks), step, place]
        parents += last.tolist()
        last = len(fed) + np.arange(blocks)
        fed += chosen[:, step].tolist()
    return chosen
