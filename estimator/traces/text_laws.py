"""What models think of a given text: from one parallel pass each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from reference.drafters.model_drafter import text_laws
from reference.laws.laws import OneHot, overlap
from reference.laws.sampling import Sampling
from reference.models.model import Model
from reference.policies.fallback import Fallback
from reference.rules.distance import Rollback


@torch.inference_mode()
def log_likelihoods(
    model: Model, prompt: Sequence[int], continuation: Sequence[int]
) -> NDArray[np.float64]:
    """Returns ln p(x) of each token of a continuation at temperature 1, shape (tokens,), in nats.

    Args:
      model: begins a new text.
      prompt: ids.
      continuation: the ids after it, at least 1.
    """
    [p] = text_laws(model, model.start(prompt), continuation, [Sampling()])
    tokens = torch.tensor(continuation, device=p.device)
    return np.asarray(p.of(tokens).double().log().cpu().numpy())


@torch.inference_mode()
def overlaps(
    large: Model,
    small: Model,
    prompt: Sequence[int],
    continuation: Sequence[int],
    sampling: Sampling,
) -> NDArray[np.float64]:
    """Returns beta = sum min(p, q) at each token of a continuation, shape (tokens,).

    Args:
      large, small: begin a new text; both under the same sampling settings.
      prompt: ids.
      continuation: the ids after it, at least 1.
      sampling: makes laws of the logits.
    """
    [p], [q] = (
        text_laws(model, model.start(prompt), continuation, [sampling]) for model in (large, small)
    )
    return np.asarray(overlap(p, q).double().clamp(max=1.0).cpu().numpy())


@dataclass(frozen=True, slots=True)
class BildTrace:
    """What BiLD's policies look at along one text; all of shape (tokens,).

    certainty: of the small model's law at each token.
    distance: of what the small model would have written there.
    same: whether that is the text's own token.
    """

    certainty: NDArray[np.float64]
    distance: NDArray[np.float64]
    same: NDArray[np.bool_]


@torch.inference_mode()
def bild_trace(
    large: Model,
    small: Model,
    prompt: Sequence[int],
    continuation: Sequence[int],
    *,
    fallback: Fallback,
    rollback: Rollback,
) -> BildTrace:
    """Returns what BiLD's policies look at along a text, greedily decoded.

    Args:
      large, small: begin a new text; the small one's rows are as wide as the large one's.
      prompt: ids.
      continuation: the ids after it, at least 1.
      fallback, rollback: which measure and which distance; their thresholds are not looked at.
    """
    greedy = [Sampling(0.0)]
    [p], [q] = (
        text_laws(model, model.start(prompt), continuation, greedy) for model in (large, small)
    )
    assert isinstance(q, OneHot), "greedy laws are one-hot"
    places = torch.arange(len(continuation), device=p.device).split(1)
    certainty = np.array([fallback.certainty(q.at(at)) for at in places])
    distance = rollback.distances(p, q, q.tokens)
    same = q.tokens == torch.tensor(continuation, device=q.device)
    return BildTrace(
        certainty, np.asarray(distance.double().cpu().numpy()), np.asarray(same.cpu().numpy())
    )
