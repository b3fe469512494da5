"""A draft's own continuation from block starts of a text, after its first wrong token.

A text's trace has the draft's confidence while its tokens equal the text's. After its first wrong
token the draft reads its own tokens, so each path is drafted here, with the drafter's own code.
"""

from collections.abc import Callable, Sequence
from time import monotonic

import numpy as np
import torch
from numpy.typing import NDArray

from ngram.drafters.ngram_drafter import NgramDrafter
from reference.drafters.model_drafter import ModelDrafter
from reference.drafters.state_head import StateHeadDrafter
from reference.laws.sampling import Sampling, seeded
from reference.laws.scoring import confidence
from reference.policies.policy import Fixed

# Drafters whose tokens come from laws, under any sampling settings.
CONFIDENT = (ModelDrafter, NgramDrafter, StateHeadDrafter)
# Paths that are timed before the number of starts is chosen.
TIMED = 3

Paths = tuple[NDArray[np.int64], NDArray[np.float32]]


@torch.inference_mode()
def own_paths(
    drafter: ModelDrafter | NgramDrafter | StateHeadDrafter,
    text: Sequence[int],
    tokens: Sequence[int],
    sampling: Sampling,
    *,
    device: torch.device,
    length: int,
    seconds: float,
    known: tuple[NDArray[np.float32], NDArray[np.bool_]] | None,
) -> Paths:
    """Returns block starts of a text, and the draft's confidence along its own path from each.

    At temperature 0, if a draft's distribution depends only on the text before, blocks with one
    first wrong token share the rest, so each wrong token is continued only once.

    Args:
      drafter: has scored the text, so that its caches of the text are valid.
      text, tokens: the ids before, at least 1, and the N ids that the target wrote.
      sampling, device: sampling settings and device of the draft.
      length: tokens of a path, L, at least 1.
      seconds: time limit for all paths, above 0. If time is short, every n-th start has a path.
      known: confidences along the text, shape (N, 3), and whether each of the draft's tokens is
        right, shape (N,); None if paths are drawn or depend on the block's start.

    Returns:
      starts, ascending, in 0..N, and confidences of shape (starts, L, 3), with the columns of
      `reference.laws.scoring.confidence` for the drafted token; 0 after a path's end.
    """
    generator = seeded(device, *tokens)
    before = drafter.sampling
    drafter.sampling = sampling

    def path(start: int) -> NDArray[np.float32]:
        row = np.zeros((length, 3), dtype=np.float32)
        draft = drafter.propose([*text, *tokens[:start]], length, Fixed(length), generator)
        sure = confidence(draft.q, draft.tokens)
        if sure is not None and len(sure):
            row[: len(sure)] = sure.float().cpu().numpy()
        return row

    try:
        places = np.arange(len(tokens) + 1)
        if known is not None:
            shared = _shared(path, *known, length, seconds)
            if shared is not None:
                return places, shared
        starts, rows = _within(path, places, seconds)
        return starts, np.stack(rows)
    finally:
        drafter.sampling = before


def _shared(
    path: Callable[[int], NDArray[np.float32]],
    along: NDArray[np.float32],
    right: NDArray[np.bool_],
    length: int,
    seconds: float,
) -> NDArray[np.float32] | None:
    """Returns the paths of all starts, built from paths of wrong tokens; None if time is short."""
    count = len(right)
    wrong = [*np.flatnonzero(~right).tolist(), count]
    starts, found = _within(path, np.array(wrong), seconds)
    if len(starts) < len(wrong):
        return None
    rows = np.zeros((count + 1, length, 3), dtype=np.float32)
    rows[wrong] = found
    for start in np.flatnonzero(right)[::-1]:
        rows[start] = np.concatenate([along[start][None], rows[start + 1, :-1]])
    return rows


def _within(
    path: Callable[[int], NDArray[np.float32]], places: NDArray[np.int64], seconds: float
) -> tuple[NDArray[np.int64], list[NDArray[np.float32]]]:
    """Returns every n-th place with its path, for the smallest n that the time allows.

    From the last to the first, so that the drafter's caches of the text stay valid.
    """
    begun, chosen = monotonic(), places[::-1]
    rows = [path(int(start)) for start in chosen[:TIMED]]
    each = (monotonic() - begun) / len(rows)
    every = max(1, int(np.ceil(each * len(places) / seconds)))
    if every > 1:
        rows, chosen = [], places[::every][::-1]
    rows += [path(int(start)) for start in chosen[len(rows) :]]
    return chosen[::-1], rows[::-1]
