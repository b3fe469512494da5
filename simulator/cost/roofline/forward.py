"""Time of a forward pass from a model's shape and its hardware's peak rate and bandwidth.

The roofline model (Williams et al. 2009): an operation takes the longer of its arithmetic at the
peak rate and its memory traffic at full bandwidth. A decoding step has products with weights, which
are read once for all sequences and new tokens (so verification is nearly free, Leviathan et al.
2023, §3.4), products with experts, of which more tokens read more, and attention, which reads each
sequence's own cache.

Sizes broadcast: new_tokens is n >= 1, tokens fed to each sequence; context is L >= 0, tokens
already in each sequence's cache; batch is B >= 1, sequences.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from simulator.cost.roofline.experts import busiest_experts, distinct_experts
from simulator.cost.roofline.hardware import Hardware
from simulator.cost.roofline.shapes import CacheLayers, ModelShape
from simulator.cost.roofline.sharing import (
    Conditions,
    cache_share,
    exchange_seconds,
    require_division,
)
from simulator.numerics.arguments import Floats, floats, integers

# Fitted to published speeds by benchmarks/roofline.py; 10th and 90th percentile of measured over
# predicted tokens per second.
DEFAULT_EFFICIENCY, DEFAULT_LAYER_SECONDS = 0.9, 92e-6
MEASURED_LOW, MEASURED_HIGH = 0.70, 1.30
PEAK = Conditions()


def forward_flops(
    shape: ModelShape, *, new_tokens: ArrayLike, context: ArrayLike, batch: ArrayLike
) -> Floats:
    """Returns the floating-point operations of one forward pass with a warm cache.

        2·B·n·W + Σ_layers B·n·a·min(L + (n + 1)/2, window)

    B: batch; n: new_tokens of each sequence; L: context; W: weights that one token is multiplied by
      (Kaplan et al. 2020, §2.1, counts 2 operations per weight and token); a: operations of
      attention for one new and one cached token.
    """
    sizes = _sizes(new_tokens, context, batch)
    products = 2 * sizes[2] * sizes[0] * shape.active_parameters
    flops = sum((_attention_flops(cache, *sizes) for cache in shape.caches), products)
    return np.asarray(flops)[()]


def forward_seconds(
    shape: ModelShape,
    hardware: Hardware,
    *,
    new_tokens: ArrayLike,
    context: ArrayLike,
    batch: ArrayLike,
    conditions: Conditions = PEAK,
) -> Floats:
    """Returns the seconds of one forward pass on this hardware, by the roofline model.

        Σ max(flops/peak, bytes/bandwidth)/efficiency over the kinds of weights and of caches
        + layers · (overhead + exchanges)                              (Williams et al. 2009)

    Each of several replicas has an equal share of the batch. For experts, all sequences count.
    conditions: GPUs and efficiencies; the default is one GPU at its peak rate and bandwidth.
    """
    sizes = _sizes(new_tokens, context, batch)
    require_division(shape, conditions.tp)
    everywhere = sizes[2] * sizes[0]
    sizes[2] = np.ceil(sizes[2] / conditions.dp)
    tokens = sizes[2] * sizes[0]
    seconds = np.zeros(np.broadcast_shapes(*(size.shape for size in sizes)))
    for weights in shape.multiplied:
        arithmetic = 2 * tokens * weights.active_values / hardware.flops(weights.computed_in)
        experts, traffic = weights.experts, np.asarray(weights.stored_bytes / hardware.bandwidth)
        gpus = conditions.tp
        if experts:
            active, reuse = weights.active, conditions.expert_reuse
            read = distinct_experts(everywhere, experts=experts, active=active, reuse=reuse)
            traffic = traffic * busiest_experts(read, experts=experts, ep=conditions.ep) / experts
            arithmetic, gpus = arithmetic * everywhere / tokens, conditions.gpus
        seconds = seconds + np.maximum(arithmetic, traffic) / gpus
    peak = hardware.flops(shape.activations)
    for cache in shape.caches:
        arithmetic = _attention_flops(cache, *sizes) / peak / conditions.tp
        traffic = _cache_bytes(cache, *sizes) / hardware.bandwidth
        seconds = seconds + np.maximum(arithmetic, traffic * cache_share(cache, conditions.tp))
    seconds = seconds / conditions.efficiency + shape.layers * conditions.layer_overhead_seconds
    exchanged = exchange_seconds(shape, hardware, tokens=tokens, conditions=conditions)
    return np.asarray(seconds + shape.layers * exchanged)[()]


def roof_seconds(
    shape: ModelShape,
    hardware: Hardware,
    *,
    new_tokens: int,
    context: int,
    batch: int,
    conditions: Conditions,
) -> float:
    """Returns the seconds of a pass at peak rate and bandwidth, without overhead or exchanges.

    conditions: whose GPUs share the pass; efficiency and overhead are not used.
    """
    if not shape.weights and not shape.caches:
        return 0.0
    sizes = {"new_tokens": new_tokens, "context": context, "batch": batch}
    shared = _at_peak(conditions.tp, conditions.dp, conditions.ep)
    bare = replace(shape, layers=0)
    return float(forward_seconds(bare, hardware, conditions=shared, **sizes))


@lru_cache(maxsize=64)  # each pass needs it
def _at_peak(tp: int, dp: int, ep: int) -> Conditions:
    return replace(PEAK, tp=tp, dp=dp, ep=ep)


def memory_bytes(
    shape: ModelShape, *, context: ArrayLike, batch: ArrayLike, conditions: Conditions = PEAK
) -> Floats:
    """Returns the bytes of a model's weights and its sequences' caches on each GPU."""
    _, length, sequences = _sizes(1, context, batch)
    sequences, tp = np.ceil(sequences / conditions.dp), conditions.tp
    experts = sum(weights.stored_bytes for weights in shape.only("experts") if weights.held)
    total = np.asarray((shape.weight_bytes - experts) / tp + experts / conditions.gpus)
    for cache in shape.caches:
        if cache.held:
            # An indexer reads few of the tokens, and all of them are kept.
            window = None if cache.kind == "indexed" else cache.window
            tokens = length if window is None else np.minimum(length, window)
            of_one = cache.layers * (tokens * cache.bytes_per_token + cache.state_bytes)
            total = total + sequences * of_one * cache_share(cache, tp)
    return np.asarray(total)[()]


def _sizes(new_tokens: ArrayLike, context: ArrayLike, batch: ArrayLike) -> list[Floats]:
    """Returns the checked sizes as float64, so that their products do not overflow."""
    sizes = {
        "new_tokens": integers("new_tokens", new_tokens, at_least=1),
        "context": integers("context", context),
        "batch": integers("batch", batch, at_least=1),
    }
    return floats(sizes)


def _attention_flops(cache: CacheLayers, n: Floats, length: Floats, sequences: Floats) -> Floats:
    seen = np.ones_like(length) if cache.kind == "linear" else length + (n + 1) / 2
    if cache.window is not None:
        seen = np.minimum(seen, cache.window)
    return np.asarray(sequences * n * cache.layers * cache.operations * seen)


def _cache_bytes(cache: CacheLayers, n: Floats, length: Floats, sequences: Floats) -> Floats:
    """Returns the bytes that a pass reads and writes in all sequences' caches.

    With a window, the n new tokens of a sequence together read the window plus n - 1 tokens. A
    recurrent state is read once, and written after each new token for the rollback of drafts.
    """
    tokens = length + n
    if cache.window is not None:
        tokens = np.minimum(tokens, cache.window + n - 1)
    of_one = tokens * cache.bytes_per_token + (1 + n) * cache.state_bytes
    return np.asarray(sequences * cache.layers * of_one)
