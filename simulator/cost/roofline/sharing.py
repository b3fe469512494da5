"""How GPUs share a pass: tensor, data and expert parallelism, and what they exchange."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from simulator.cost.roofline.hardware import Hardware
from simulator.cost.roofline.shapes import CacheLayers, ModelShape
from simulator.numerics.arguments import Floats, integer, non_negative, probability

# GPUs of a server, its network's bandwidth for each GPU one way (400 Gb/s InfiniBand) and latency,
# and machines whose GPUs are all on NVLink.
_SERVER_GPUS, _NETWORK_BANDWIDTH, _NETWORK_SECONDS = 8, 50e9, 40e-6
_RACKS = ("gb200", "gb300")
# Activations are exchanged in 16 bits.
_BYTES_PER_VALUE = 2


@dataclass(frozen=True, slots=True)
class Conditions:
    """GPUs and efficiencies of a pass.

    tp: GPUs that share the weights and the arithmetic of each layer (tensor parallelism).
    dp: replicas of all weights but experts, each on `tp` GPUs; the batch is divided among them.
    ep: parts into which experts are divided as wholes; each expert is shared by the GPUs of its
      part. All tp · dp GPUs hold each expert once, for any ep.
    efficiency: share of peak bandwidth and peak rate that kernels reach, in (0, 1].
    expert_reuse: how far tokens share experts, in [0, 1] (see `distinct_experts`).
    layer_overhead_seconds: fixed time per layer (kernel launches): 20 to 50 microseconds if a
      framework launches each kernel by itself, almost none with CUDA graphs.
    """

    tp: int = 1
    efficiency: float = 1.0
    expert_reuse: float = 0.0
    layer_overhead_seconds: float = 0.0
    dp: int = 1
    ep: int = 1

    def __post_init__(self) -> None:
        for name in ("tp", "dp", "ep"):
            integer(name, getattr(self, name), at_least=1)
        if self.gpus % self.ep != 0:
            raise ValueError(f"ep must divide the tp × dp = {self.gpus} GPUs, got {self.ep}")
        if float(probability("efficiency", self.efficiency)) == 0:
            raise ValueError("efficiency must be above 0, got 0")
        probability("expert_reuse", self.expert_reuse)
        non_negative("layer_overhead_seconds", self.layer_overhead_seconds)

    @property
    def gpus(self) -> int:
        """Number of GPUs that share the experts."""
        return self.tp * self.dp

    @property
    def parallel(self) -> str:
        """How the GPUs share the models, in words; empty if only by tensor parallelism."""
        named = f" (tp {self.tp}, dp {self.dp}, ep {self.ep})"
        return named if self.dp > 1 or self.ep > 1 else ""

    def replica_batch(self, batch: int) -> int:
        """Returns the sequences of the fullest replica if the batch is divided evenly."""
        return -(-batch // self.dp)


def exchange_seconds(
    shape: ModelShape, hardware: Hardware, *, tokens: Floats, conditions: Conditions
) -> Floats:
    """Returns the seconds in which GPUs exchange activations in one layer (all-reduce, all-to-all).

    tokens: new tokens of a pass on one data-parallel replica; any shape, which the result has."""
    sent, seconds = sends_tokens(shape, conditions), np.zeros_like(tokens)
    if conditions.tp > 1:
        agreeing = all_reduce_seconds(hardware, values=tokens * shape.hidden, gpus=conditions.tp)
        seconds = seconds + (2 - sent) * agreeing
    if sent:
        values = tokens / conditions.tp * chosen_experts(shape) * shape.hidden
        (there, *_) = (weights.computed_in for weights in shape.only("experts"))
        size = (1 if there == "fp8" else _BYTES_PER_VALUE) + _BYTES_PER_VALUE
        seconds = seconds + all_to_all_seconds(hardware, size=values * size, gpus=conditions.gpus)
    return seconds


def all_reduce_seconds(hardware: Hardware, *, values: ArrayLike, gpus: int) -> Floats:
    """Returns the seconds in which N GPUs sum a vector of 16-bit `values`; 0 on one GPU.

        latency + 2·(N − 1)/N · bytes/link        (ring all-reduce, Patarasuk and Yuan 2009)

    On M servers of G GPUs the sum is of each server, then across servers: each GPU sums its part of
    bytes/G with the same part of the other servers (hierarchical all-reduce, Jia et al. 2018, §3).
    """
    count = integer("gpus", gpus, at_least=1)
    size = non_negative("values", values) * _BYTES_PER_VALUE
    if count == 1:
        return np.zeros_like(size)[()]
    if hardware.link_bandwidth is None:
        raise ValueError(f"tp must be 1 on {hardware.name}, which has no known link, got {count}")
    inside = min(count, _linked(hardware, count))
    seconds = hardware.link_latency_seconds + _ring(size, inside) / hardware.link_bandwidth
    if inside < count:
        link, latency = _between(hardware.link_bandwidth, hardware.link_latency_seconds)
        seconds = seconds + latency + _ring(size / inside, -(-count // inside)) / link
    return np.asarray(seconds)[()]


def all_to_all_seconds(hardware: Hardware, *, size: ArrayLike, gpus: int) -> Floats:
    """Returns the seconds to send each GPU's tokens to their experts on N GPUs, and back.

        2 · latency + (N − 1)/N · bytes/link

    size: bytes of one GPU, both ways. Beyond a server's 8 GPUs the link is a network's, except in
      racks with one NVLink domain.
    """
    link, latency = hardware.link_bandwidth, hardware.link_latency_seconds
    if link is None:
        raise ValueError(f"dp must be 1 on {hardware.name}, which has no known link")
    if gpus > _linked(hardware, gpus):
        link, latency = _between(link, latency)
    moved = (gpus - 1) / gpus * non_negative("size", size)
    return np.asarray(2 * latency + moved / link)[()]


def _linked(hardware: Hardware, gpus: int) -> int:
    """Returns how many of the GPUs are on one another's links: a server's, or all of a rack."""
    return gpus if hardware.name.startswith(_RACKS) else _SERVER_GPUS


def _between(link: float, latency: float) -> tuple[float, float]:
    """Returns bandwidth and latency between servers, which are no better than inside one."""
    return min(link, _NETWORK_BANDWIDTH), max(latency, _NETWORK_SECONDS)


def _ring(size: Floats, members: int) -> Floats:
    """Returns the bytes that each member of a ring sends to sum vectors of `size` bytes."""
    return np.asarray(2 * (members - 1) / members * size)


def sends_tokens(shape: ModelShape, conditions: Conditions) -> bool:
    """Returns whether tokens are sent to the experts of other replicas, and back."""
    return conditions.dp > 1 and bool(shape.only("experts"))


def chosen_experts(shape: ModelShape) -> int:
    """Returns the number of routed experts of one token in one layer; 0 without experts."""
    return max((weights.active for weights in shape.only("experts")), default=0)


def require_experts(shape: ModelShape, ep: int) -> None:
    """Raises ValueError unless the model's experts can be divided into so many parts."""
    counts = [weights.experts for weights in shape.only("experts")]
    if ep > 1 and not counts:
        raise ValueError(f"ep must be 1 on {shape.name}, which has no experts, got {ep}")
    if ep > min(counts, default=1):
        raise ValueError(f"ep must be at most the {min(counts)} experts of {shape.name}, got {ep}")


def require_division(shape: ModelShape, tp: int) -> None:
    """Raises ValueError unless the GPUs divide the model's attention heads evenly."""
    if shape.heads % integer("tp", tp, at_least=1) != 0:
        raise ValueError(f"tp must divide the {shape.heads} heads of {shape.name}, got {tp}")


def cache_share(cache: CacheLayers, tp: int) -> float:
    """Returns the share of a layer's cache that each GPU stores and reads.

    GPUs divide the key-value heads. If there are more GPUs than heads, several GPUs store one head.
    """
    return -(-cache.shards // tp) / cache.shards
