"""Plain decoding, one token for each target call: the baseline that speed-ups divide by."""

from collections.abc import Iterator

import torch

from reference.clock import Clock
from reference.laws.sampling import Sampling
from reference.models.model import Model, require_finite
from reference.records import Block
from reference.stopping import Stopping


@torch.inference_mode()
def autoregressive_blocks(
    target: Model,
    text: list[int],
    *,
    sampling: Sampling,
    stopping: Stopping,
    generator: torch.Generator,
) -> Iterator[Block]:
    """Yields one block of one token for each target call.

    Args:
      target: started on this text (`reference.generation.begin`).
      text: the ids to continue; not changed.

    Raises:
      FloatingPointError: if the target returns logits that are NaN or infinite.
    """
    prefix = len(text)
    text = list(text)
    ending = None
    while ending is None:
        clock = Clock(None, target)
        logits = target.extend(torch.tensor(text[-1:], device=target.device))
        law = sampling.laws(logits, text)
        token, witness = torch.cat([law.draw(generator), law.witness.double()]).tolist()
        require_finite([witness], target.name, len(text))
        emitted, ending = stopping.cut(text, [int(token)], emitted=len(text) - prefix)
        text += emitted
        yield Block(0, (), tuple(emitted), 0, *clock.seconds(), ending=ending)
