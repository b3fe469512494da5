"""Time of a forward pass from the shape of a model and the two roofs of the hardware.

The roofline model (Williams et al. 2009): an operation takes the longer of its arithmetic at the
peak rate and its memory traffic at the full bandwidth. A decoding step is two such operations that
behave differently under load: the matrix products, whose weights are read once for all sequences
and all new tokens (what makes verification nearly free, Leviathan et al. 2023, §3.4), and
attention, which reads every sequence's own key-value cache. Real kernels reach neither roof, so
these times are the least possible; ratios (c, the cost of verification) hold better than
milliseconds. What does not shrink with the work, launching kernels, is `layer_overhead_seconds`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.cost.curves import CostModel
from simulator.cost.hardware import Hardware
from simulator.cost.model_shape import ModelShape
from simulator.numerics.arguments import integer, integers, non_negative, same_shape


def forward_flops(
    shape: ModelShape, *, new_tokens: ArrayLike, context: ArrayLike, batch: ArrayLike
) -> NDArray[np.float64]:
    """Returns the floating-point operations of one forward pass with a warm cache.

        2·B·n·W + 4·B·n·layers·heads·head_dim·(L + (n + 1)/2)

    W: weights multiplied (Kaplan et al. 2020, §2.1, counts 2 operations a weight and token); the
    second term is attention of each new token to what stands before it and to itself.

    Args:
      shape: the model.
      new_tokens: n >= 1, tokens fed to each sequence; the three broadcast together.
      context: L >= 0, tokens already in each sequence's cache.
      batch: B >= 1, sequences.
    """
    linear, attention = _flops(shape, *_sizes(new_tokens, context, batch))
    return linear + attention


def forward_bytes(
    shape: ModelShape, *, new_tokens: ArrayLike, context: ArrayLike, batch: ArrayLike
) -> NDArray[np.float64]:
    """Returns the bytes that one forward pass moves: all weights once, every sequence's cache once.

    Activations are left out: they are small beside the weights while B·n stays below the hidden
    size. Arguments as in forward_flops.
    """
    weights, cache = _bytes(shape, *_sizes(new_tokens, context, batch))
    return weights + cache


def forward_seconds(
    shape: ModelShape,
    hardware: Hardware,
    *,
    new_tokens: ArrayLike,
    context: ArrayLike,
    batch: ArrayLike,
    layer_overhead_seconds: float = 0.0,
) -> NDArray[np.float64]:
    """Returns the least time that one forward pass takes on this hardware.

        max(flops/peak, bytes/bandwidth) of the matrix products + the same of attention
        + layers · overhead                                            (Williams et al. 2009)

    Args:
      shape: the model.
      hardware: peak rate in the model's number format, and bandwidth.
      new_tokens: n >= 1, tokens fed to each sequence; broadcasts with context and batch.
      context: L >= 0, tokens already in each sequence's cache.
      batch: B >= 1, sequences.
      layer_overhead_seconds: time per layer that does not shrink with the work (kernel launches);
        0 is the roofline itself, and some 1e-4 s where a dozen kernels a layer are launched one
        by one.

    Raises:
      ValueError: if a size is out of range or the hardware lacks the model's number format.
    """
    overhead = shape.layers * non_negative("layer_overhead_seconds", layer_overhead_seconds)
    peak = hardware.flops(shape.dtype)
    sizes = _sizes(new_tokens, context, batch)
    linear_flops, attention_flops = _flops(shape, *sizes)
    weight_bytes, cache_bytes = _bytes(shape, *sizes)
    linear = np.maximum(linear_flops / peak, weight_bytes / hardware.bandwidth)
    attention = np.maximum(attention_flops / peak, cache_bytes / hardware.bandwidth)
    return linear + attention + overhead


def roofline_cost(
    target: ModelShape,
    draft: ModelShape,
    hardware: Hardware,
    *,
    context: int,
    batch: int = 1,
    max_gamma: int = 32,
    layer_overhead_seconds: float = 0.0,
) -> CostModel:
    """Returns the cost model of a pair of models that decode a batch in step on one accelerator.

    t_p(n) is a target pass over n new tokens of each of the batch's sequences, t_q a draft pass
    over one; what they leave out (sampling, bookkeeping) is 0.

    Args:
      target: shape of M_p.
      draft: shape of M_q.
      hardware: what both run on.
      context: tokens in each sequence's cache; taken as constant within a block.
      batch: sequences decoded together.
      max_gamma: the curve is given up to n = max_gamma + 1.
      layer_overhead_seconds: as in forward_seconds.

    Raises:
      ValueError: if a size is out of range or the hardware lacks a model's number format.
    """
    widths = np.arange(1, integer("max_gamma", max_gamma, at_least=1) + 2)
    verify = forward_seconds(
        target,
        hardware,
        new_tokens=widths,
        context=context,
        batch=batch,
        layer_overhead_seconds=layer_overhead_seconds,
    )
    step = forward_seconds(
        draft,
        hardware,
        new_tokens=1,
        context=context,
        batch=batch,
        layer_overhead_seconds=layer_overhead_seconds,
    )
    return CostModel(
        target_seconds=dict(zip(widths.tolist(), verify.tolist(), strict=True)),
        draft_seconds=float(step),
    )


def memory_bytes(shape: ModelShape, *, context: ArrayLike, batch: ArrayLike) -> NDArray[np.float64]:
    """Returns the bytes that a model's weights and its sequences' caches take.

    Args:
      shape: the model.
      context: tokens in each sequence's cache; broadcasts with batch.
      batch: sequences.
    """
    _, length, sequences = _sizes(1, context, batch)
    cache = sequences * length * shape.cache_bytes_per_token
    return np.asarray(shape.parameters * shape.bytes_per_value + cache)[()]


def _sizes(
    new_tokens: ArrayLike, context: ArrayLike, batch: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Returns the checked sizes as float64, in which products of them do not overflow."""
    n = integers("new_tokens", new_tokens, at_least=1).astype(np.float64)
    length = integers("context", context).astype(np.float64)
    sequences = integers("batch", batch, at_least=1).astype(np.float64)
    same_shape({"new_tokens": n, "context": length, "batch": sequences})
    return n, length, sequences


def _flops(
    shape: ModelShape,
    n: NDArray[np.float64],
    length: NDArray[np.float64],
    sequences: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the operations of the matrix products and of attention."""
    tokens = sequences * n
    per_position = 4 * shape.layers * shape.heads * shape.head_dim
    return 2 * tokens * shape.matrix_parameters, tokens * per_position * (length + (n + 1) / 2)


def _bytes(
    shape: ModelShape,
    n: NDArray[np.float64],
    length: NDArray[np.float64],
    sequences: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    """Returns the bytes of the weights and of all sequences' caches."""
    cache = sequences * (length + n) * shape.cache_bytes_per_token
    return float(shape.matrix_parameters * shape.bytes_per_value), cache
