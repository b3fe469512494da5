"""Costs of blocks for several sequences at once: passes over batches with a given cache length.

A block is γ draft steps of one token per sequence, then one target pass over γ + 1 tokens per
sequence. Then both caches are cut back. The γ take turns of several blocks, and the machine's speed
in each turn is divided out.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache

from estimator.profiles.profile import LoadCosts, milliseconds
from estimator.timing.precision import polish
from estimator.timing.turns import processor_clock
from reference.models.architectures import CausalModel
from reference.models.cached_model import CachedModel
from reference.models.model import Model
from reference.models.recurrent_model import RecurrentModel

# Blocks of each γ per turn. The first is not counted, because the last γ's data fill the caches.
BLOCKS_A_TURN = 4


class Batch:
    """A model with a batch of sequences in its cache."""

    def __init__(self, model: CachedModel, batch: int, context: int) -> None:
        self._clock = processor_clock(model.device) or time.perf_counter
        self.module, self.device, self.batch = model.module, model.device, batch
        self.cache = DynamicCache(config=model.module.config)
        # The values of the ids do not affect the time of attention and dense layers.
        ids = torch.arange(batch * context, device=self.device) % model.vocabulary
        self._forward(ids.reshape(batch, context))

    def _forward(self, ids: Tensor) -> None:
        self.module(input_ids=ids, past_key_values=self.cache, use_cache=True)

    def seconds(self, passes: int, tokens: int) -> float:
        """Returns the seconds of `passes` passes, each over `tokens` new tokens per sequence."""
        ids = torch.zeros(self.batch, tokens, dtype=torch.int64, device=self.device)
        began = self._now()
        for _ in range(passes):
            self._forward(ids)
        spent = self._now() - began
        if passes:
            self.cache.crop(-passes * tokens)
        return spent

    def _now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return self._clock()


@torch.inference_mode()
def load_times(
    target: CachedModel,
    draft: CachedModel,
    *,
    batch: int,
    context: int,
    gammas: Sequence[int],
    repeats: int,
    progress: Callable[[], object],
) -> LoadCosts:
    """Returns the times of passes over a batch, corrected for changes of the machine's speed.

    target, draft: decoder-only models.
    batch, context: number of sequences, and tokens in each sequence's cache, at least 1.
    gammas: draft lengths, each timed `repeats` times. progress: called after each repeat.
    """
    verifier, drafter = Batch(target, batch, context), Batch(draft, batch, context)
    order, lengths = np.random.default_rng(0), [0, *gammas]
    # Verifying and drafting, by length, turn and block.
    seconds = np.zeros((2, len(lengths), repeats, BLOCKS_A_TURN))
    for turn in range(repeats):
        for number in order.permutation(len(lengths)).tolist():
            for block in range(BLOCKS_A_TURN):
                drafted = drafter.seconds(lengths[number], 1)
                verified = verifier.seconds(1, lengths[number] + 1)
                seconds[:, number, turn, block] = verified, drafted
        progress()
    # The first block of a turn does not count, and drafting nothing takes no time.
    times = np.concatenate([seconds[0, ..., 1:], seconds[1, 1:, :, 1:]])
    medians, speeds = polish(np.median(times, axis=-1))
    low, middle, high = np.quantile(times / speeds[:, None], (0.25, 0.5, 0.75), axis=(1, 2))
    drafting = dict(zip(gammas, medians[len(lengths) :].tolist(), strict=True))
    verifying = {n + 1: float(value) for n, value in zip(lengths, medians, strict=False)}
    return LoadCosts(
        batch=batch,
        context=context,
        target_ms=milliseconds(verifying),
        draft_ms=1e3 * drafting[max(drafting)] / max(drafting),
        drafting_ms=milliseconds(drafting),
        spread_percent=100 * float(((high - low) / 2 / middle).max()),
    )


def require_load(
    target: CachedModel,
    draft: Model | None,
    *,
    loads: Sequence[tuple[int, int]],
    max_gamma: int,
    draft_name: str,
) -> CachedModel:
    """Returns `draft`; raises ValueError if these models or sizes cannot be timed over a batch.

    loads: pairs (batch, tokens in each cache).
    """
    context = max(context for _, context in loads)
    decoder = isinstance(target, CausalModel)
    if not isinstance(draft, CachedModel) or not decoder:
        got = f"draft {draft_name}" if decoder else f"{target.name} ({target.kind})"
        raise ValueError(f"batch must be of a decoder-only target and a draft model, got {got}")
    for model in (target, draft):
        if isinstance(model, RecurrentModel):
            raise ValueError(
                "batch must be of models without recurrent layers, whose second readings are not "
                f"timed over a batch, got {model.name}"
            )
        limit, needed = model.max_length, context + max_gamma + 1
        if limit is not None and needed > limit:
            raise ValueError(
                f"context must leave room for {max_gamma + 1} tokens in the {limit} positions of "
                f"{model.name}, got {context}"
            )
    return draft
