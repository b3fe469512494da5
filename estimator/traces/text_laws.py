"""What models think of a given text: from one parallel pass each."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from reference.drafters.model_drafter import text_laws
from reference.laws.laws import overlap
from reference.laws.sampling import Sampling
from reference.models.model import Model


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
