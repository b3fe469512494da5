"""Time of a forward pass from a model's shape and its hardware's peak rate and bandwidth.

The roofline model (Williams et al. 2009): an operation takes the longer of its arithmetic at the
peak rate and its memory traffic at full bandwidth. A decoding step has products with weights, which
are read once for all sequences and new tokens (so verification is nearly free, Leviathan et al.
2023, §3.4), products with experts, of which more tokens read more, and attention, which reads each
sequence's own cache.

Sizes broadcast: new_tokens is n >= 1, tokens fed to each sequence; context is L >= 0, tokens
already in each sequence's cache; batch is B >= 1, sequences.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from simulator.cost.roofline.hardware import Hardware
from simulator.cost.roofline.shapes import CacheLayers, ModelShape
from simulator.numerics.arguments import (
    Floats,
    floats,
    integer,
    integers,
    non_negative,
    probability,
)

# Fitted to published speeds by benchmarks/roofline.py; 10th and 90th percentile of measured over
# predicted tokens per second.
DEFAULT_EFFICIENCY, DEFAULT_LAYER_SECONDS = 0.9, 92e-6
MEASURED_LOW, MEASURED_HIGH = 0.70, 1.30
# Activations are exchanged in 16 bits.
_BYTES_PER_VALUE = 2


@dataclass(frozen=True, slots=True)
class Conditions:
    """GPUs and efficiencies of a pass.

    tp: GPUs that share the weights and the arithmetic of each layer (tensor parallelism).
    efficiency: share of peak bandwidth and peak rate that kernels reach, in (0, 1].
    expert_reuse: how far tokens share experts, in [0, 1] (see `distinct_experts`).
    layer_overhead_seconds: fixed time per layer (kernel launches): 20 to 50 microseconds if a
      framework launches each kernel by itself, almost none with CUDA graphs.
    """

    tp: int = 1
    efficiency: float = 1.0
    expert_reuse: float = 0.0
    layer_overhead_seconds: float = 0.0

    def __post_init__(self) -> None:
        integer("tp", self.tp, at_least=1)
        if float(probability("efficiency", self.efficiency)) == 0:
            raise ValueError("efficiency must be above 0, got 0")
        probability("expert_reuse", self.expert_reuse)
        non_negative("layer_overhead_seconds", self.layer_overhead_seconds)


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
    return np.asarray(sum((_attention_flops(each, *sizes) for each in shape.caches), products))[()]


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
        + layers · (overhead + two all-reduces)                        (Williams et al. 2009)

    conditions: GPUs and efficiencies; the default is one GPU at its peak rate and bandwidth.
    """
    sizes = _sizes(new_tokens, context, batch)
    require_division(shape, conditions.tp)
    tokens = sizes[2] * sizes[0]
    seconds = np.zeros(np.broadcast_shapes(*(each.shape for each in sizes)))
    for weights in shape.multiplied:
        arithmetic = 2 * tokens * weights.active_values / hardware.flops(weights.computed_in)
        experts, traffic = weights.experts, np.asarray(weights.stored_bytes / hardware.bandwidth)
        if experts:
            sizes_read = {"experts": experts, "active": weights.active}
            read = distinct_experts(tokens, reuse=conditions.expert_reuse, **sizes_read)
            traffic = traffic * read / experts
        seconds = seconds + np.maximum(arithmetic, traffic) / conditions.tp
    peak = hardware.flops(shape.activations)
    for cache in shape.caches:
        arithmetic = _attention_flops(cache, *sizes) / peak / conditions.tp
        traffic = _cache_bytes(cache, *sizes) / hardware.bandwidth
        seconds = seconds + np.maximum(arithmetic, traffic * cache_share(cache, conditions.tp))
    seconds = seconds / conditions.efficiency + shape.layers * conditions.layer_overhead_seconds
    if conditions.tp > 1:
        agreeing = all_reduce_seconds(hardware, values=tokens * shape.hidden, gpus=conditions.tp)
        seconds = seconds + shape.layers * 2 * agreeing
    return np.asarray(seconds)[()]


def memory_bytes(shape: ModelShape, *, context: ArrayLike, batch: ArrayLike, tp: int = 1) -> Floats:
    """Returns the bytes of a model's weights and its sequences' caches on each of `tp` GPUs."""
    _, length, sequences = _sizes(1, context, batch)
    total = np.asarray(shape.weight_bytes / tp)
    for each in shape.caches:
        if each.held:
            # An indexer reads few of the tokens, and all of them are kept.
            window = None if each.kind == "indexed" else each.window
            tokens = length if window is None else np.minimum(length, window)
            of_one = each.layers * (tokens * each.bytes_per_token + each.state_bytes)
            total = total + sequences * of_one * cache_share(each, tp)
    return np.asarray(total)[()]


def _sizes(new_tokens: ArrayLike, context: ArrayLike, batch: ArrayLike) -> list[Floats]:
    """Returns the checked sizes as float64, so that their products do not overflow."""
    sizes = {
        "new_tokens": integers("new_tokens", new_tokens, at_least=1),
        "context": integers("context", context),
        "batch": integers("batch", batch, at_least=1),
    }
    return floats(sizes)


def distinct_experts(
    tokens: ArrayLike, *, experts: int, active: int, reuse: ArrayLike = 0.0
) -> Floats:
    """Returns the expected number of distinct experts in one layer that receive some token.

        E · (1 − (1 − k/E)^m')        with m' = 1 + (1 − r)·(m − 1)

    Under uniform routing (r = 0) each of m tokens picks k of E experts independently; all tokens
    miss an expert with probability (1 − k/E)^m. Tokens of one text pick similar experts: with reuse
    r, each token after the first counts as 1 − r of an independent token.

    tokens: m, tokens of all sequences in one pass, at least 0; broadcasts with r, `reuse`.
    experts, active: E, and k from 1 to E.
    """
    count = integers("tokens", tokens).astype(np.float64)
    total = integer("experts", experts, at_least=1)
    chosen = integer("active", active, at_least=1)
    if chosen > total:
        raise ValueError(f"active must be at most the {total} experts, got {chosen}")
    shared = probability("reuse", reuse)
    independent = np.where(count > 0, 1 + (1 - shared) * (count - 1), 0.0)
    if chosen == total:
        return np.asarray(np.where(count > 0, float(total), 0.0))[()]
    return np.asarray(-total * np.expm1(independent * np.log1p(-chosen / total)))[()]


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


def all_reduce_seconds(hardware: Hardware, *, values: ArrayLike, gpus: int) -> Floats:
    """Returns the seconds in which N GPUs sum a vector of 16-bit `values`; 0 on one GPU.

    latency + 2·(N − 1)/N · bytes/link        (ring all-reduce, Patarasuk and Yuan 2009)
    """
    count = integer("gpus", gpus, at_least=1)
    size = non_negative("values", values) * _BYTES_PER_VALUE
    if count == 1:
        return np.zeros_like(size)[()]
    if hardware.link_bandwidth is None:
        raise ValueError(f"tp must be 1 on {hardware.name}, which has no known link, got {count}")
    moved = 2 * (count - 1) / count * size
    return np.asarray(hardware.link_latency_seconds + moved / hardware.link_bandwidth)[()]


def require_division(shape: ModelShape, tp: int) -> None:
    """Raises ValueError unless the GPUs divide the model's attention heads evenly."""
    if shape.heads % integer("tp", tp, at_least=1) != 0:
        raise ValueError(f"tp must divide the {shape.heads} heads of {shape.name}, got {tp}")


def cache_share(cache: CacheLayers, tp: int) -> float:
    """Returns the share of a layer's cache that each GPU stores and reads.

    GPUs divide the key-value heads. If there are more GPUs than heads, several GPUs store one head.
    """
    return -(-cache.shards // tp) / cache.shards
