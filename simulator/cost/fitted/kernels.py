"""The work of a deployment's steps from measured kernels: products, experts, attention, all-reduce.

A pass over n new tokens in each of b sequences is the sum of its kernels. Products and experts take
b · n rows. Attention is measured with one query per sequence: the n queries of verification read
the caches once and take at most n decoding steps' attention; "recache" is the share of that bound.
Where `KernelTables.rereads`, they read the caches once for each query head. Other caches than keys
and values (latent, indexed, recurrent) have no tables: the roofline prices them, with all queries'
arithmetic if latent. No parameter scales the time to read, write and gather all tokens' logits.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial

from simulator.cost.fitted.kernel_tables import KernelTables
from simulator.cost.fitted.machine import DeployedMachine, Work, work
from simulator.cost.fitted.runs import LoadPoint
from simulator.cost.roofline.deployment import over_pcie
from simulator.cost.roofline.experts import busiest_experts, distinct_experts
from simulator.cost.roofline.forward import roof_seconds
from simulator.cost.roofline.matrices import LATENT_CACHES, PLAIN_CACHES
from simulator.cost.roofline.shapes import ModelShape, Weights
from simulator.cost.roofline.sharing import Conditions, chosen_experts, sends_tokens

# Bytes that a server reads and writes for each value of the logits: 2 from the product, 6 to make
# 32 bits of them, 4 to choose a token.
_LOGIT_BYTES = 12
# Least time to gather logits from several GPUs: three all-reduces of an engine's own kernel.
_GATHER_SECONDS = 18e-6
# Mean delay of a GPU at an all-reduce (exponential); tables do not have the wait for the slowest.
_DELAY_SECONDS = 7e-6
# Seconds of a layer's latent attention beyond reading its cache, and of two products of each head
# with the projections that it absorbs (`docs/roofline.md`, "Measured kernels").
LATENT_SECONDS = 18e-6
# Share of the peak rate that latent attention reaches: 660 of 989.5 teraflops (FlashMLA, H800).
LATENT_RATE = 2 / 3
# Rows of a chunk in which servers read prompts.
CHUNK = 2048
_WIDE = ("bfloat16", "float16")


def _waiting(gpus: int) -> float:
    """Returns the seconds that the mean GPU waits for the slowest at one all-reduce."""
    return _DELAY_SECONDS * sum(1 / rank for rank in range(2, gpus + 1))


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

    def draft_passes(self, load: LoadPoint, width: int) -> tuple[float, float, float]:
        draft, given = self.deployment.draft, self.deployment.draft_conditions
        step, once, turn = self._drafting
        sequences = given.replica_batch(load.batch)
        one = step(load.batch * width) + self._choosing(draft.step, sequences * width)
        one += self._cached(draft.step, given, load.context, sequences)
        one += draft.step.layers * self.tables.drafting_layer
        return one, once(load.batch), turn(load.batch)

    def layer_exchange(self, shape: ModelShape, tokens: int, given: Conditions) -> float:
        sent, seconds = sends_tokens(shape, given), 0.0
        if given.tp > 1:
            seconds += (2 - sent) * self._summed(shape, tokens, given)
        if sent:
            rows, active = -(-tokens // given.tp), chosen_experts(shape)
            count = max(weight.experts for weight in shape.only("experts"))
            sizes = {"hidden": shape.hidden, "count": count, "active": active}
            seconds += self.tables.all_to_all(rows=rows, gpus=given.gpus, **sizes)
        return seconds

    def exchanges(self, shape: ModelShape, tokens: int, given: Conditions) -> float:
        """Returns the seconds of all exchanges in a pass, its logits included."""
        seconds = super().exchanges(shape, tokens, given)
        link = self.deployment.hardware.link_bandwidth
        if given.tp == 1 or link is None or (values := tokens * shape.logits) == 0:
            return seconds
        # The embedding is divided, too, and summed.
        seconds += self._summed(shape, tokens, given) + _GATHER_SECONDS + _waiting(given.tp)
        return seconds + 2 * values * (given.tp - 1) / given.tp / link

    def _summed(self, shape: ModelShape, tokens: int, given: Conditions) -> float:
        """Returns the seconds of an all-reduce of one vector for each token."""
        reduced = self.tables.all_reduce(rows=tokens, hidden=shape.hidden, gpus=given.tp)
        return reduced + _waiting(given.tp)

    def prompt_work(self, tokens: float) -> Work:
        shape, given = self.deployment.target, self.deployment.conditions
        rows = CHUNK * given.dp
        seconds = self._products(shape.multiplied, shape, given)(rows)
        seconds += super().exchanges(shape, CHUNK, given)
        return work(prompt=tokens * seconds / rows)

    def target_work(self, load: LoadPoint, new_tokens: int) -> Work:
        shape, given = self.deployment.target, self.deployment.conditions
        rows, sequences = load.batch * new_tokens, given.replica_batch(load.batch)
        tokens, (_, first) = sequences * new_tokens, self._multiplying(load.batch)
        others, further = self._multiplying(rows)[0], self._multiplying(rows)[1] - first
        latent = any(group.kind in LATENT_CACHES for group in shape.caches)
        once = self.reading(load.context, sequences, new_tokens if latent else 1)
        again = self.reading(load.context, tokens, 1) - once
        if new_tokens > 1 and self.tables.rereads:
            once += self._rereading(load.context, sequences)
        return work(
            roof=others + first,
            layer=shape.layers,
            experts=max(further, 0.0),
            # Servers handle the tokens of one sequence after the other, while the GPU waits.
            sequence=tokens,
            cache=once,
            recache=max(again, 0.0),
            fixed=self.exchanges(shape, tokens, given) + self._choosing(shape, tokens),
        )

    @cached_property
    def _multiplying(self) -> Callable[[int], tuple[float, float]]:
        """Maps rows to the seconds of the target's products, without experts and of experts."""
        shape, given = self.deployment.target, self.deployment.conditions
        others = self._products(shape.without("embedding", "experts"), shape, given)
        routed = self._products(shape.only("experts"), shape, given)
        return cache(lambda rows: (others(rows), routed(rows)))

    @cached_property
    def _drafting(self) -> tuple[Callable[[int], float], ...]:
        """Maps rows to the seconds of a draft pass's products, and of those in `draft_passes`."""
        draft, given = self.deployment.draft, self.deployment.draft_conditions
        parts = (draft.step.multiplied, draft.once, draft.in_turn)
        return tuple(self._products(part, draft.step, given) for part in parts)

    @cached_property
    def reading(self) -> Callable[[int, int, int], float]:
        """Maps context, sequences and queries of each to the target's seconds of `_cached`."""
        return cache(partial(self._cached, self.deployment.target, self.deployment.conditions))

    def _rereading(self, context: int, sequences: int) -> float:
        """Returns the seconds to read caches for query heads beyond the first of a key head."""
        read = 0.0
        for group in self.deployment.target.caches:
            if group.kind in PLAIN_CACHES and group.operations > group.bytes_per_token:
                held = context if group.window is None else min(context, group.window)
                read += group.layers * held * (group.operations - group.bytes_per_token)
        tp = self.deployment.conditions.tp
        return sequences * read / tp / self.deployment.hardware.bandwidth

    def _choosing(self, shape: ModelShape, tokens: int) -> float:
        """Returns the seconds to read and write the logits of all tokens of a pass."""
        return _LOGIT_BYTES * tokens * shape.logits / self.deployment.hardware.bandwidth

    def _products(
        self, weights: tuple[Weights, ...], shape: ModelShape, given: Conditions
    ) -> Callable[[int], float]:
        """Maps rows, the tokens of all replicas, to the seconds to multiply them by all weights."""
        parts: list[tuple[float, Callable[[int], float]]] = []
        for matrix in weights:
            stored = matrix.stored_bytes / matrix.values if matrix.values else 0.0
            if matrix.experts:
                sizes = {"hidden": shape.hidden, "inner": matrix.inner, "count": matrix.experts}
                sizes |= {"active": matrix.active}
                layer = 3 * matrix.experts * shape.hidden * matrix.inner  # gate, up and down
                routed = partial(self._experts, stored=stored, sizes=sizes, given=given)
                parts.append((matrix.values / layer, routed))
                continue
            for outputs, inputs, count in matrix.products(
                shape.hidden, layers=shape.layers, tp=given.tp
            ):
                sizes = {"outputs": outputs, "inputs": inputs, "replicas": given.dp}
                parts.append((count, self._product(matrix.computed_in, stored, **sizes)))
        return lambda rows: sum((count * seconds(rows) for count, seconds in parts), 0.0)

    def _product(
        self, computed_in: str, stored: float, *, outputs: int, inputs: int, replicas: int
    ) -> Callable[[int], float]:
        """Maps rows to the time of one product.

        Tables have products of 8-bit weights with 8-bit activations. Products with 16-bit
        activations take this time or the arithmetic of 16-bit weights, the longer of both.
        """
        product = partial(self.tables.product, outputs=outputs, inputs=inputs)
        rates, least = self.deployment.hardware.peak_flops, 0.0
        if 0.9 < stored < 1.5 and computed_in in _WIDE and "fp8" in rates:
            least = product(rows=CHUNK, stored=2.0) / CHUNK

        def seconds(rows: int) -> float:
            of_replica = -(-rows // replicas)
            return max(product(rows=of_replica, stored=stored), least * of_replica)

        return seconds

    def _experts(
        self, rows: int, *, stored: float, sizes: dict[str, int], given: Conditions
    ) -> float:
        """Returns the seconds of one layer's experts for `rows` tokens.

        They are the time of the fewer tokens that read as many experts in turn, and the arithmetic
        of the tokens beyond those that read all in turn.
        """
        count, active = sizes["count"], sizes["active"]
        read = distinct_experts(rows, experts=count, active=active, popular=True)
        most = float(busiest_experts(read, experts=count, ep=given.ep))
        gpus = (given.gpus // given.ep, given.ep)

        def seconds(tokens: float) -> float:
            low = max(int(tokens), 1)
            few = self.tables.experts(rows=low, stored=stored, gpus=gpus, **sizes)
            if tokens <= low:
                return few
            more = self.tables.experts(rows=low + 1, stored=stored, gpus=gpus, **sizes)
            return few + (tokens - low) * (more - few)

        every = count / active
        arithmetic = seconds(max(rows, every)) - seconds(every)
        return seconds(most / active) + max(arithmetic, 0.0)

    def _cached(
        self, shape: ModelShape, given: Conditions, context: int, batch: int, queries: int = 1
    ) -> float:
        """Returns the seconds to read a replica's caches once; latent ones by several queries."""
        seconds, tp, replica = 0.0, given.tp, replace(given, dp=1, ep=1)
        for group in shape.caches:
            if group.kind in PLAIN_CACHES and group.operations > 0 and group.bytes_per_token > 0:
                # Keys and values of 16 bits; four operations for each value of the queries.
                key_heads = max(group.shards, 1)
                head_size = max(round(group.bytes_per_token / 4 / key_heads), 1)
                heads = max(round(group.operations / 4 / head_size), key_heads)
                seconds += group.layers * self.tables.attention(
                    batch=batch,
                    context=max(context if group.window is None else min(context, group.window), 1),
                    heads=max(heads // tp, 1),
                    key_heads=max(key_heads // tp, 1),
                    head_size=head_size,
                )
            else:
                hardware, latent = self.deployment.hardware, group.kind in LATENT_CACHES
                if latent:
                    rates = {name: LATENT_RATE * rate for name, rate in hardware.peak_flops.items()}
                    hardware = replace(hardware, peak_flops=rates)
                bare = replace(shape, weights=(), caches=(group,))
                sizes = {"new_tokens": queries if latent else 1, "context": context, "batch": batch}
                seconds += roof_seconds(bare, hardware, conditions=replica, **sizes)
                seconds += group.layers * LATENT_SECONDS * latent
        return seconds
