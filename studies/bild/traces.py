"""What BiLD's policies would look at along a given text, and what drafts would begin there."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from estimator.seeding import seeded
from reference.drafters.model_drafter import ModelDrafter, text_laws
from reference.laws.laws import OneHot
from reference.laws.sampling import Sampling
from reference.models.model import Model
from studies.bild.distance import Rollback
from studies.bild.fallback import Fallback

NEVER = sys.maxsize


@dataclass(frozen=True, slots=True)
class BildTrace:
    """What BiLD's policies look at along one text.

    certainty: of the small model's law at each place of the draft that it would begin at each
      token, shape (tokens, most); NaN beyond its end.
    ends: after how many tokens that draft ends a text, shape (tokens,); NEVER if it does not.
    distance: of what the small model would have written at each token, shape (tokens,).
    same: whether that is the text's own token, shape (tokens,).
    """

    certainty: NDArray[np.float64]
    ends: NDArray[np.int64]
    distance: NDArray[np.float64]
    same: NDArray[np.bool_]


@torch.inference_mode()
def bild_trace(
    large: Model,
    drafter: ModelDrafter,
    prompt: Sequence[int],
    continuation: Sequence[int],
    *,
    fallback: Fallback,
    rollback: Rollback,
) -> BildTrace:
    """Returns what BiLD's policies look at along a text, greedily decoded.

    A draft goes on from what the small model wrote, whether or not that will be rolled back; where
    it wrote the text's own token, as the draft from the next token does. Only the others are run.

    Args:
      large: begins a new text.
      drafter: of the small model, greedy.
      prompt: ids.
      continuation: the ids after it, at least 1.
      fallback, rollback: which measure and which distance, the longest draft, and what ends a text;
        their thresholds are not looked at.
    """
    greedy = [Sampling(0.0)]
    beginning = drafter.draft.beginning(prompt)
    drafter.start(prompt, beginning)
    [p] = text_laws(large, large.start(prompt), continuation, greedy)
    [q] = text_laws(drafter.draft, beginning, continuation, greedy)
    assert isinstance(q, OneHot), "greedy laws are one-hot"
    distance = rollback.distances(p, q, q.tokens)
    same = (q.tokens == torch.tensor(continuation, device=q.device)).tolist()
    certainty = np.full((len(continuation), fallback.most), np.nan)
    ends = np.full(len(continuation), NEVER)
    drafts = replace(fallback, threshold=0.0)
    nothing_drawn = seeded(large.device, 0)
    # Backwards, so that the small model's cache always holds what comes before.
    for place in reversed(range(len(continuation))):
        if same[place] and place + 1 < len(continuation):
            own = fallback.certainty(q.at(torch.tensor([place], device=q.device)))
            certainty[place] = [own, *certainty[place + 1, :-1]]
            ends[place] = min(ends[place + 1], NEVER - 1) + 1
            continue
        text = [*beginning, *continuation[:place]]
        draft = drafter.propose(text, fallback.most, drafts, nothing_drawn)
        places = torch.arange(len(draft.tokens), device=q.device).split(1)
        certainty[place, : len(places)] = [fallback.certainty(draft.q.at(at)) for at in places]
        if len(places) > 0 and int(draft.tokens[-1]) in fallback.end_ids:
            ends[place] = len(places)
    return BildTrace(certainty, ends, np.asarray(distance.double().cpu().numpy()), np.array(same))
