"""Tensor parallelism: how several GPUs divide a layer, and the cost of their all-reduces."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.cost.hardware import Hardware
from simulator.cost.model_shape import CacheLayers, ModelShape
from simulator.numerics.arguments import integer, non_negative

# Activations are exchanged in 16 bits.
_BYTES_PER_VALUE = 2


def all_reduce_seconds(hardware: Hardware, *, values: ArrayLike, gpus: int) -> NDArray[np.float64]:
    """Returns the time in which GPUs add up a vector.

        latency + 2·(N − 1)/N · bytes/link        (ring all-reduce, Patarasuk and Yuan 2009)

    Args:
      hardware: its link's bandwidth (one way) and latency.
      values: number of 16-bit values of the vector, shape (...).
      gpus: N, at least 1; at 1 the time is 0.

    Raises ValueError if there are several GPUs and the hardware has no link between them.
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

    Key-value heads are divided among GPUs; with more GPUs than heads, several GPUs store one head.
    A latent cache is one head that all GPUs store.
    """
    return -(-cache.shards // tp) / cache.shards
