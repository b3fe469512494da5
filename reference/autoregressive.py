"""Plain decoding, one token for each target call: the baseline that speed-ups divide by."""

import time
from collections.abc import Iterator

import torch

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
      sampling: makes the target's law of its logits.
      stopping: when the text ends.
      generator: on the target's device.

    Raises:
      FloatingPointError: if the target returns logits that are NaN or infinite.
    """
    prefix = len(text)
    text = list(text)
    ending = None
    while ending is None:
        began = time.perf_counter()
        verifying = target.forward_seconds
        logits = target.extend(torch.tensor(text[-1:], device=target.device))
        law = sampling.laws(logits, text)
        token, finite = torch.cat([law.draw(generator), law.finite]).tolist()
        require_finite([finite], target.name, len(text))
        emitted, ending = stopping.cut(text, [token], emitted=len(text) - prefix)
        text += emitted
        verify_seconds = target.forward_seconds - verifying
        yield Block(
            gamma=0,
            drafted=(),
            tokens=tuple(emitted),
            accepted=0,
            draft_seconds=0.0,
            verify_seconds=verify_seconds,
            other_seconds=time.perf_counter() - began - verify_seconds,
            ending=ending,
        )
