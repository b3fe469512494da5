"""Probabilities of given texts by models, in one parallel pass each."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from reference.laws.laws import OneHot, overlap
from reference.laws.sampling import Sampling
from reference.models.model import Model
from reference.score_text import text_laws


@torch.inference_mode()
def log_likelihoods(
    model: Model, prompt: Sequence[int], continuation: Sequence[int]
) -> NDArray[np.float64]:
    """Returns ln p(x) of each token of a continuation at temperature 1, shape (tokens,), in nats.

    prompt, continuation: ids; the continuation has at least 1.
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

    prompt, continuation: ids; the continuation has at least 1.
    sampling: settings of both models.
    """
    [p], [q] = (
        text_laws(model, model.start(prompt), continuation, [sampling]) for model in (large, small)
    )
    return np.asarray(overlap(p, q).double().clamp(max=1.0).cpu().numpy())


def tie_gap(
    target: Model,
    prompt: Sequence[int],
    own: Sequence[int],
    other: Sequence[int],
    *,
    repetition_penalty: float,
) -> float:
    """Returns the target's logit gap at the first difference of two greedy texts.

    Verifying several tokens at once differs from one-token steps in the last bits. In half
    precision that can change the greedy choice between nearly equal logits.
    """
    common = next(at for at, (a, b) in enumerate(zip(own, other, strict=False)) if a != b)
    text = target.start(prompt)
    feed = torch.tensor([text[-1], *own[:common]], device=target.device)
    logits = target.extend(feed)[-1:].double()
    plain = Sampling(temperature=0, repetition_penalty=repetition_penalty)
    law = plain.laws(logits, [*text, *own[:common]])
    assert isinstance(law, OneHot)
    assert law.logits is not None
    pair = law.logits[0, [own[common], other[common]]]
    return abs(float(pair[0] - pair[1]))
