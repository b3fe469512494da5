"""The work of a deployment's steps from measured kernels: products, experts, attention, all-reduce.

A pass over n new tokens in each of b sequences is the sum of its kernels. Products and experts take
b · n rows. Attention is measured with one query per sequence: the n queries of verification read
the caches once and take at most n decoding steps' attention, and the parameter "recache" is the
share of that bound. The roofline prices caches other than keys and values (latent, indexed,
recurrent), which have no tables. Further seconds that no parameter scales: the logits of all new
tokens are read and written, and on several GPUs each pass that chooses tokens gathers them.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

from simulator.cost.fitted.machine import DeployedMachine, Work, roof_seconds, work
from simulator.cost.fitted.runs import LoadPoint
from simulator.cost.roofline.deployment import over_pcie
from simulator.cost.roofline.forward import distinct_experts
from simulator.cost.roofline.shapes import ModelShape, Weights

# Bytes that a server reads and writes for each value of the logits: 2 from the product, 6 to make
# 32 bits of them, 4 to choose a token.
_LOGIT_BYTES = 12
# Least time to gather logits from several GPUs: three all-reduces of an engine's own kernel.
_GATHER_SECONDS = 18e-6
# Rows of a chunk in which servers read prompts.
CHUNK = 2048
_PLAIN_CACHES = ("full", "sliding", "chunked")
# Biases and norms, which are left out of products, are at most this share of the weights.
_NEAR = 0.02
# Experts' inner sizes are multiples of this.
_INNER = 32
# A feed-forward network with a smaller inner size than this is a router of experts.
_LEAST_INNER = 128


class KernelTables(ABC):
    """Measured times of single kernels on one GPU, in seconds.

    A look-up outside the measured range extrapolates; without any measurement it raises ValueError.
    `rows`: tokens in a product. `stored`: bytes per weight. Example: a GPU that only spends time on
    reading weights, at 2 TB/s:

      >>> class OnlyBandwidth(KernelTables):
      ...     name = "2 TB/s"
      ...     experts = attention = all_reduce = lambda self, **sizes: 0.0
      ...     def product(self, *, rows, outputs, inputs, stored):
      ...         return outputs * inputs * stored / 2e12
      >>> OnlyBandwidth().product(rows=8, outputs=4096, inputs=4096, stored=2.0)
      1.6777216e-05
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """Source and versions of the tables, as shown in answers."""

    @abstractmethod
    def product(self, *, rows: int, outputs: int, inputs: int, stored: float) -> float:
        """Returns the time to multiply `rows` vectors by a weight matrix of outputs x inputs."""

    @abstractmethod
    def experts(
        self, *, rows: int, hidden: int, inner: int, count: int, active: int, gpus: int,
        stored: float,
    ) -> float:  # fmt: skip
        """Returns the time of one layer's `count` routed experts, `active` per token, on `gpus`.

        The tokens take experts in turn: they read rows · active of them, at most all.
        """

    @abstractmethod
    def attention(
        self, *, batch: int, context: int, heads: int, key_heads: int, head_size: int
    ) -> float:
        """Returns the time of one layer's attention with one query per sequence."""

    @abstractmethod
    def all_reduce(self, *, rows: int, hidden: int, gpus: int) -> float:
        """Returns the time of an all-reduce of `rows` vectors of `hidden` 16-bit values."""


@dataclass(frozen=True, eq=False)
class KernelMachine(DeployedMachine):
    """A deployment whose passes are timed from kernels that were measured on its GPU and server.

    Several GPUs over PCIe raise ValueError, because there kernels were less accurate than the
    roofline (`docs/roofline.md`).
    """

    tables: KernelTables

    def __post_init__(self) -> None:
        if over_pcie(self.deployment):
            raise ValueError("kernels do not cover several GPUs over PCIe")

    def draft_seconds(self, load: LoadPoint, gamma: int, passes: int, width: int) -> float:
        draft, tp = self.deployment.draft, self.deployment.draft_conditions.tp
        rows = load.batch * width
        once = self._products(draft.once, draft.step, rows=load.batch, tp=tp)
        turn = self._products(draft.in_turn, draft.step, rows=load.batch, tp=tp)
        one = self._products(draft.step.multiplied, draft.step, rows=rows, tp=tp)
        one += self._cached(draft.step, load, load.batch, tp=tp)
        return passes * one + once + gamma * turn

    def all_reduce(self, tokens: int, hidden: int, tp: int) -> float:
        return self.tables.all_reduce(rows=tokens, hidden=hidden, gpus=tp)

    def all_reduces(self, shape: ModelShape, tokens: int, tp: int) -> float:
        """Returns the seconds of a pass's all-reduces and of gathering its logits."""
        link, values = self.deployment.hardware.link_bandwidth, tokens * _logits(shape)
        if tp == 1 or values == 0 or link is None:
            return super().all_reduces(shape, tokens, tp)
        gathered = _GATHER_SECONDS + 2 * values * (tp - 1) / tp / link
        return super().all_reduces(shape, tokens, tp) + gathered

    def block_pass(self, load: LoadPoint, new_tokens: int) -> Work:
        # Servers handle drafted tokens one sequence after the other, while the GPU waits.
        return super().block_pass(load, new_tokens) + work(sequence=load.batch * new_tokens)

    def prompt_work(self, tokens: float) -> Work:
        shape, tp = self.deployment.target, self.deployment.conditions.tp
        seconds = self._products(shape.multiplied, shape, rows=CHUNK, tp=tp)
        seconds += super().all_reduces(shape, CHUNK, tp)
        return work(prompt=tokens * seconds / CHUNK)

    def target_work(self, load: LoadPoint, new_tokens: int) -> Work:
        shape, tp = self.deployment.target, self.deployment.conditions.tp
        rows = load.batch * new_tokens
        routed, others = shape.only("experts"), shape.without("embedding", "experts")
        first = self._products(routed, shape, rows=load.batch, tp=tp)
        further = self._products(routed, shape, rows=rows, tp=tp) - first
        once = self._cached(shape, load, load.batch, tp=tp)
        again = self._cached(shape, load, rows, tp=tp) - once
        choosing = _LOGIT_BYTES * rows * _logits(shape) / self.deployment.hardware.bandwidth
        return work(
            roof=self._products(others, shape, rows=rows, tp=tp) + first,
            layer=shape.layers,
            experts=max(further, 0.0),
            cache=once,
            recache=max(again, 0.0),
            fixed=self.all_reduces(shape, rows, tp) + choosing,
        )

    def _products(
        self, weights: tuple[Weights, ...], shape: ModelShape, *, rows: int, tp: int
    ) -> float:
        """Returns the seconds to multiply `rows` tokens by all of these weights on `tp` GPUs."""
        seconds = 0.0
        for each in weights:
            stored = each.stored_bytes / each.values if each.values else 0.0
            if each.experts:
                layers, inner = _expert_layers(each, shape)
                sizes = {"hidden": shape.hidden, "inner": inner, "count": each.experts}
                sizes |= {"active": each.active, "gpus": tp}
                seconds += layers * self._experts(rows, stored, sizes)
                continue
            for outputs, inputs, count in _matrices(each, shape, tp):
                sizes = {"rows": rows, "outputs": outputs, "inputs": inputs}
                seconds += count * self.tables.product(**sizes, stored=stored)
        return seconds

    def _experts(self, rows: int, stored: float, sizes: dict[str, int]) -> float:
        """Returns the seconds of one layer's experts for `rows` tokens that choose them by chance.

        They are the time of the fewer tokens that read as many experts in turn, and the arithmetic
        of the tokens beyond those that read all in turn.
        """
        count, active = sizes["count"], sizes["active"]
        read = float(distinct_experts(rows, experts=count, active=active))

        def seconds(tokens: float) -> float:
            low = max(int(tokens), 1)
            few = self.tables.experts(rows=low, stored=stored, **sizes)
            if tokens <= low:
                return few
            return few + (tokens - low) * (
                self.tables.experts(rows=low + 1, stored=stored, **sizes) - few
            )

        every = count / active
        arithmetic = seconds(max(rows, every)) - seconds(every)
        return seconds(read / active) + max(arithmetic, 0.0)

    def _cached(self, shape: ModelShape, load: LoadPoint, batch: int, *, tp: int) -> float:
        seconds = 0.0
        for cache in shape.caches:
            if cache.kind in _PLAIN_CACHES and cache.operations > 0 and cache.bytes_per_token > 0:
                # Keys and values of 16 bits; four operations for each value of the queries.
                key_heads = max(cache.shards, 1)
                head_size = max(round(cache.bytes_per_token / 4 / key_heads), 1)
                heads = max(round(cache.operations / 4 / head_size), key_heads)
                tokens = max(load.context, 1)
                seconds += cache.layers * self.tables.attention(
                    batch=batch,
                    context=tokens if cache.window is None else min(tokens, cache.window),
                    heads=max(heads // tp, 1),
                    key_heads=max(key_heads // tp, 1),
                    head_size=head_size,
                )
            else:
                bare = replace(shape, weights=(), caches=(cache,))
                again = replace(load, batch=batch)
                seconds += roof_seconds(bare, self.deployment.hardware, again, new_tokens=1, tp=tp)
        return seconds


def _logits(shape: ModelShape) -> float:
    """Returns the number of tokens between which a pass chooses; 0 without an output matrix."""
    return sum(each.values for each in shape.only("head")) / shape.hidden


def _matrices(weights: Weights, shape: ModelShape, tp: int) -> list[tuple[int, int, int]]:
    """Returns the weight matrices on each GPU as (outputs, inputs, number of such matrices).

    A layer's attention counts as two matrices (one for queries, keys and values, one for the
    output), its feed-forward network as two (gate and up, down), and other kinds of weights as one.
    """
    hidden, layers = shape.hidden, max(shape.layers, 1)
    values = weights.values / layers
    match weights.kind:
        case "head":
            return [(round(weights.values / hidden / tp), hidden, 1)]
        case "other" if weights.values < _NEAR * shape.active_parameters:
            return []
        case "attention":
            plain = shape.caches and all(each.kind in _PLAIN_CACHES for each in shape.caches)
            output = hidden * shape.caches[0].operations / 4 if plain else 0.0
            # The first matrix has the values that the output's has not; 3/5 where that is unknown.
            first = values - output if 0 < output < 0.8 * values else 0.6 * values
            sides = [(first / hidden / tp, hidden), (hidden, (values - first) / hidden / tp)]
        case "feed-forward":
            inner = values / 3 / hidden
            sides = [(2 * inner / tp, hidden), (hidden, inner / tp)]
            if inner < _LEAST_INNER:  # a router of experts, the same on every GPU
                sides = [(values / hidden, hidden)]
        case _:
            sides = [(values / hidden / tp, hidden)]
    return [(max(round(n), 1), max(round(k), 1), layers) for n, k in sides]


def _expert_layers(weights: Weights, shape: ModelShape) -> tuple[int, int]:
    """Returns the number of layers with experts, and an expert's inner size.

    It is the largest number of layers for which the inner size is a multiple of _INNER.
    """
    each = weights.values / (3 * weights.experts * shape.hidden)
    for layers in range(shape.layers, 0, -1):
        if abs((each / layers + _INNER / 2) % _INNER - _INNER / 2) < 0.01:
            return layers, round(each / layers)
    return shape.layers, round(each / shape.layers)
