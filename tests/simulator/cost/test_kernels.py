"""Passes from measured kernels: which are looked up, how often, and what they add up to."""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from simulator.cost.fitted.kernel_tables import KernelTables
from simulator.cost.fitted.kernels import CHUNK, LATENT_RATE, LATENT_SECONDS, KernelMachine
from simulator.cost.fitted.machine import PARAMETERS, Work
from simulator.cost.fitted.runs import LoadPoint
from simulator.cost.roofline.forward import roof_seconds
from simulator.cost.roofline.matrices import Matrix
from simulator.cost.roofline.shapes import CacheLayers, ModelShape, Weights
from simulator.cost.roofline.sharing import Conditions
from tests.simulator.known_shapes import LLAMA_8B, dense
from tests.simulator.served_machines import SERVED

LOAD = LoadPoint(1000, 4)


@dataclass
class Invented(KernelTables):
    """Kernels whose times are simple to add up by hand.

    lookups: number of look-ups of each kernel. rereads, drafting_layer: see `KernelTables`.
    """

    lookups: Counter[tuple[object, ...]] = field(default_factory=Counter)
    name: str = "invented"
    rereads: bool = False
    drafting_layer: float = 0.0

    def product(self, *, rows: int, outputs: int, inputs: int, stored: float) -> float:
        self.lookups["product", rows, outputs, inputs, round(stored, 2)] += 1
        return 1e-12 * outputs * inputs + 1e-6 * rows

    def experts(
        self, *, rows: int, hidden: int, inner: int, count: int, active: int,
        gpus: tuple[int, int], stored: float,
    ) -> float:  # fmt: skip
        self.lookups["experts", hidden, inner, count, active, gpus] += 1
        return 1e-5 * rows

    def attention(
        self, *, batch: int, context: int, heads: int, key_heads: int, head_size: int
    ) -> float:
        self.lookups["attention", batch, context, heads, key_heads, head_size] += 1
        return 1e-9 * batch * context

    def all_to_all(self, *, rows: int, hidden: int, count: int, active: int, gpus: int) -> float:
        self.lookups["all-to-all", rows, hidden, count, active, gpus] += 1
        return 1e-6 * rows

    def all_reduce(self, *, rows: int, hidden: int, gpus: int) -> float:
        self.lookups["all-reduce", rows, hidden, gpus] += 1
        return 1e-6 * rows


def machine(
    target: ModelShape = LLAMA_8B, tp: int = 1, conditions: Conditions | None = None
) -> KernelMachine:
    given = Conditions(tp=tp) if conditions is None else conditions
    deployment = replace(SERVED.deployment, target=target, conditions=given)
    return KernelMachine(deployment, Invented())


def amount(work: Work, parameter: str) -> float:
    return float(work[PARAMETERS.index(parameter)])


def lookups(of: KernelMachine) -> Counter[tuple[Any, ...]]:
    assert isinstance(of.tables, Invented)
    return of.tables.lookups


def test_a_step_of_a_dense_model_is_its_five_products_attention_and_no_all_reduce() -> None:
    of = machine()
    work = of.plain_work(LOAD)
    sides = [(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336)]
    assert set(lookups(of)) == {
        *(("product", 4, *side, 2.0) for side in (*sides, (128256, 4096))),
        ("attention", 4, 1000, 32, 8, 128),
    }
    layers = sum(1e-12 * n * k + 4e-6 for n, k in sides)
    assert amount(work, "roof") == pytest.approx(32 * layers + 1e-12 * 128256 * 4096 + 4e-6)
    assert amount(work, "cache") == pytest.approx(32 * 4e-6)
    assert (amount(work, "plain"), amount(work, "block"), amount(work, "sequence")) == (1, 0, 4)


@pytest.mark.parametrize(("rates", "wide"), [({"fp8": 2e15}, True), ({}, False)])
def test_8_bit_weights_with_16_bit_activations_are_read_as_8_and_multiplied_as_16_bits(
    rates: dict[str, float], wide: bool
) -> None:
    plain, weights = machine(), LLAMA_8B.weights
    halved = [replace(weight, stored_bytes=weight.values) for weight in weights]
    of = machine(replace(LLAMA_8B, weights=tuple(halved)))
    hardware = of.deployment.hardware
    hardware = replace(hardware, peak_flops={**hardware.peak_flops, **rates})
    of = replace(of, deployment=replace(of.deployment, hardware=hardware))
    assert amount(of.plain_work(LOAD), "roof") == amount(plain.plain_work(LOAD), "roof")
    assert ("product", 4, 6144, 4096, 1.0) in lookups(of)
    many = LoadPoint(1000, 8 * CHUNK)
    more = amount(of.plain_work(many), "roof") - amount(plain.plain_work(many), "roof")
    # The invented product of eight chunks reads its weights once, eight products of one chunk each.
    sides = [(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336)]
    read = 1e-12 * (32 * sum(n * k for n, k in sides) + 128256 * 4096)
    assert more == pytest.approx(7 * read * wide)


def test_products_and_caches_of_as_many_rows_are_looked_up_once_for_all_batches() -> None:
    of = machine()
    for batch in (1, 2, 4, 8):
        for new_tokens in (1, 2, 4, 8):
            of.checking_work(LoadPoint(1000, batch), new_tokens)
    assert set(lookups(of).values()) == {1}
    assert {rows for name, rows, *_ in lookups(of) if name == "product"} == {2**n for n in range(7)}


def test_the_logits_of_every_new_token_are_read_and_written() -> None:
    of, bandwidth = machine(), SERVED.deployment.hardware.bandwidth
    assert of.plain_work(LOAD)[-1] == pytest.approx(4 * 128256 * 12 / bandwidth)
    assert of.checking_work(LOAD, 3)[-1] == pytest.approx(12 * 128256 * 12 / bandwidth)


def test_verification_takes_more_rows_and_reads_caches_between_once_and_each_query() -> None:
    of = machine()
    block, plain = of.checking_work(LOAD, 4), of.plain_work(LOAD)
    assert ("product", 16, 6144, 4096, 2.0) in lookups(of)
    assert amount(block, "cache") == amount(plain, "cache")
    assert amount(block, "recache") == pytest.approx(3 * amount(plain, "cache"))
    assert amount(block, "sequence") == 16
    assert (amount(block, "plain"), amount(block, "block")) == (0, 1)


@pytest.mark.parametrize("tp", [1, 2])
def test_verification_by_kernels_that_reread_reads_caches_for_each_query_head(tp: int) -> None:
    of = machine(tp=tp)
    rereading = replace(of, tables=Invented(rereads=True))
    (group,) = LLAMA_8B.caches
    read = 4 * 1000 * 32 * group.bytes_per_token / tp / of.deployment.hardware.bandwidth
    more = rereading.block_pass(LOAD, 4) - of.block_pass(LOAD, 4)
    # Four query heads share a key head, whose keys and values one reading has.
    assert amount(more, "cache") == pytest.approx(3 * read)
    assert more.sum() == pytest.approx(amount(more, "cache"))
    assert (rereading.plain_work(LOAD) == of.plain_work(LOAD)).all()


def test_several_gpus_divide_products_and_heads_and_agree_twice_a_layer() -> None:
    of = machine(tp=4)
    work = of.plain_work(LOAD)
    assert ("product", 4, 1536, 4096, 2.0) in lookups(of)
    assert ("product", 4, 4096, 1024, 2.0) in lookups(of)
    assert ("attention", 4, 1000, 8, 2, 128) in lookups(of)
    alone, hardware = machine().plain_work(LOAD)[-1], SERVED.deployment.hardware
    assert hardware.link_bandwidth is not None
    gathered = 18e-6 + 2 * 4 * 128256 * 3 / 4 / hardware.link_bandwidth
    # The embedding is divided, too; at each exchange GPUs wait for the slowest.
    waited = (2 * 32 + 2) * 7e-6 * (1 / 2 + 1 / 3 + 1 / 4)
    assert work[-1] == pytest.approx(alone + gathered + (2 * 32 + 1) * 4e-6 + waited)


def test_further_tokens_experts_are_apart_from_those_of_a_step() -> None:
    routed = Weights("experts", 6 * 3 * 8 * 4096 * 512, 1e9, "bfloat16", 8, active=2, inner=512)
    of = machine(replace(LLAMA_8B, weights=(*LLAMA_8B.weights, routed)))
    dense = machine().plain_work(LOAD)
    plain, block = of.plain_work(LOAD), of.checking_work(LOAD, 2)
    # Six of the 32 layers have experts.
    layers = 6
    assert {size for name, _, size, *_ in lookups(of) if name == "experts"} == {512}
    # Two of eight experts: 4 tokens in turn read all, tokens that choose popular ones fewer.
    alike = {rows: 4 * rows / (3 + rows) for rows in (4, 8)}
    assert amount(plain, "roof") - amount(dense, "roof") == pytest.approx(layers * 1e-5 * alike[4])
    assert amount(plain, "experts") == 0
    beyond = 1e-5 * (alike[8] - alike[4]) + 4e-5
    assert amount(block, "experts") == pytest.approx(layers * beyond)


def test_latent_caches_are_read_at_the_roofline_after_a_time_for_each_layer() -> None:
    latent = CacheLayers("latent", 32, 1152.0, 0.0, None, 139264.0, 1)
    shape = replace(LLAMA_8B, caches=(latent,))
    of = machine(shape)
    work = of.plain_work(LOAD)
    assert not [lookup for lookup in lookups(of) if lookup[0] == "attention"]
    bare, hardware = replace(shape, weights=()), SERVED.deployment.hardware
    read = roof_seconds(
        bare, hardware, new_tokens=1, context=1000, batch=4, conditions=Conditions()
    )
    assert amount(work, "cache") == pytest.approx(read + 32 * LATENT_SECONDS)


def test_verification_multiplies_latent_caches_by_all_queries_and_reads_them_once() -> None:
    latent = CacheLayers("latent", 32, 1152.0, 0.0, None, 1e6, 1)
    of = machine(replace(LLAMA_8B, caches=(latent,)))
    block, plain = of.checking_work(LOAD, 4), of.plain_work(LOAD)
    bare, hardware = replace(of.deployment.target, weights=()), SERVED.deployment.hardware
    rates = {name: LATENT_RATE * rate for name, rate in hardware.peak_flops.items()}
    slower, sizes = replace(hardware, peak_flops=rates), {"context": 1000, "batch": 4}
    read = roof_seconds(bare, slower, new_tokens=4, conditions=Conditions(), **sizes)
    once = roof_seconds(bare, slower, new_tokens=1, conditions=Conditions(), **sizes)
    assert read > 3.9 * once  # arithmetic takes longer than reading
    assert amount(block, "cache") == pytest.approx(read + 32 * LATENT_SECONDS)
    assert amount(plain, "cache") == pytest.approx(once + 32 * LATENT_SECONDS)
    # As many sequences of one query each would multiply as much.
    assert amount(block, "recache") < 0.01 * amount(block, "cache")


def test_a_window_bounds_the_reads_of_attention() -> None:
    windows = tuple(replace(cache, kind="sliding", window=128) for cache in LLAMA_8B.caches)
    of = machine(replace(LLAMA_8B, caches=windows))
    of.plain_work(LOAD)
    assert ("attention", 4, 128, 32, 8, 128) in lookups(of)


def test_each_pass_of_a_draft_takes_a_time_for_each_layer_between_captured_pieces() -> None:
    of = machine()
    pieces = replace(of, tables=Invented(drafting_layer=1e-3))
    further = pieces.drafting_work(LOAD, 3) - of.drafting_work(LOAD, 3)
    layers = of.deployment.draft.step.layers
    assert amount(further, "roof") == pytest.approx(3 * layers * 1e-3)


def test_prompts_are_priced_from_a_chunk() -> None:
    of = machine()
    work = of.prompt_work(8)
    assert ("product", CHUNK, 6144, 4096, 2.0) in lookups(of)
    assert amount(work, "prompt") > 0


def test_a_draft_takes_a_pass_for_each_token() -> None:
    of = machine()
    one, four = (of.drafting_work(LOAD, gamma) for gamma in (1, 4))
    assert amount(four, "roof") == pytest.approx(4 * amount(one, "roof"))
    assert amount(four, "draft") == 4


def test_a_mixture_s_router_is_one_product_that_every_gpu_has_whole() -> None:
    routed = Weights("experts", 6 * 3 * 8 * 4096 * 512, 1e9, "bfloat16", 8, active=2, inner=512)
    router = dense("feed-forward", 32 * 4096 * 128, Matrix(128, 4096, "whole", 32))
    attention = tuple(weight for weight in LLAMA_8B.weights if weight.kind == "attention")
    of = machine(replace(LLAMA_8B, weights=(*attention, router, routed)), tp=4)
    of.plain_work(LOAD)
    products = {lookup[1:4] for lookup in lookups(of) if lookup[0] == "product"}
    assert products == {(4, 1536, 4096), (4, 4096, 1024), (4, 128, 4096)}


def test_uncounted_matrices_are_one_in_a_layer() -> None:
    whole = tuple(replace(part, matrices=()) for part in LLAMA_8B.weights)
    of = machine(replace(LLAMA_8B, weights=whole))
    of.plain_work(LOAD)
    products = {key[1:4] for key in lookups(of) if key[0] == "product"}
    assert products == {(4, 10240, 4096), (4, 43008, 4096), (4, 128256, 4096)}


def test_several_gpus_over_pcie_are_not_covered() -> None:
    pcie = replace(SERVED.deployment.hardware, link_bandwidth=64e9)
    deployment = replace(SERVED.deployment, hardware=pcie, target=LLAMA_8B)
    KernelMachine(deployment, Invented())
    with pytest.raises(ValueError, match="kernels do not cover several GPUs over PCIe"):
        KernelMachine(replace(deployment, conditions=Conditions(tp=2)), Invented())


def test_replicas_divide_the_batch_and_send_tokens_to_the_experts_of_others() -> None:
    routed = Weights("experts", 32 * 3 * 8 * 4096 * 512, 1e9, "bfloat16", 8, active=2, inner=512)
    shape = replace(LLAMA_8B, weights=(*LLAMA_8B.weights, routed))
    alone, both = machine(shape), machine(shape, conditions=Conditions(dp=4, ep=4))
    plain = both.plain_work(LOAD)
    assert ("product", 1, 6144, 4096, 2.0) in lookups(both)
    assert ("attention", 1, 1000, 32, 8, 128) in lookups(both)
    assert ("all-to-all", 1, 4096, 8, 2, 4) in lookups(both)
    # Each of 4 GPUs has whole experts; the fullest reads more of them than the mean.
    assert {lookup[-1] for lookup in lookups(both) if lookup[0] == "experts"} == {(1, 4)}
    assert amount(plain, "roof") > amount(alone.plain_work(LoadPoint(1000, 1)), "roof")
    logits = 128256 * 12 / SERVED.deployment.hardware.bandwidth
    assert plain[-1] == pytest.approx(32 * 1e-6 + logits)
