"""How near to a tie two greedy texts parted.

Verifying several tokens at once differs from one-token steps in the last bits, and in half
precision that may turn the greedy choice between nearly equal logits.
"""

from collections.abc import Sequence

import torch

from reference.laws.laws import OneHot
from reference.laws.sampling import Sampling
from reference.models.model import Model


def tie_gap(
    target: Model,
    prompt: Sequence[int],
    own: Sequence[int],
    other: Sequence[int],
    *,
    repetition_penalty: float,
) -> float:
    """Returns the target's logit gap between two texts' ids where they first differ.

    Args:
      target: scores their common beginning in one pass.
      prompt: ids.
      own: the target's greedy continuation.
      other: another continuation that parts from it.
      repetition_penalty: of the settings that both were decoded with.
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
