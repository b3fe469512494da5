"""Shapes of two models as they are counted from their configurations, for tests without torch."""

from simulator.cost.roofline.matrices import Matrix
from simulator.cost.roofline.shapes import (
    CacheLayers,
    DraftShape,
    ModelShape,
    WeightKind,
    Weights,
)


def dense(kind: WeightKind, values: int, *matrices: Matrix) -> Weights:
    return Weights(kind, values, 2.0 * values, "bfloat16", matrices=matrices)


def in_layers(layers: int, first: int, inner: int, width: int) -> tuple[Matrix, Matrix]:
    """Returns the two matrices of attention, or of a feed-forward network, in all layers."""
    return Matrix(first, width, "outputs", layers), Matrix(width, inner, "inputs", layers)


def weights_of(shape: ModelShape, kind: WeightKind) -> int:
    """Returns the number of weights of a kind, including those that the target stores."""
    return sum(each.values for each in shape.only(kind))


def cache_bytes_of(shape: ModelShape) -> float:
    """Returns the bytes by which one sequence's caches grow per token while no window is full."""
    return sum(cache.layers * cache.bytes_per_token for cache in shape.caches if cache.held)


def attention_cache(*, layers: int, heads: int, kv_heads: int, width: int) -> CacheLayers:
    return CacheLayers(
        kind="full", layers=layers, bytes_per_token=2.0 * kv_heads * 2 * width, state_bytes=0.0,
        window=None, operations=4.0 * heads * width, shards=kv_heads,
    )  # fmt: skip


# Llama 3.1 8B and Llama 3.2 1B (Meta, 2024) in bfloat16; Mixtral 8x7B (Mistral AI, 2023).
LLAMA_8B = ModelShape(
    name="LlamaForCausalLM",
    layers=32,
    hidden=4096,
    heads=32,
    vocabulary=128256,
    weights=(
        dense("embedding", 4096 * 128256),
        dense("attention", 32 * 4096 * (4096 + 1024) * 2, *in_layers(32, 6144, 4096, 4096)),
        dense("feed-forward", 32 * 3 * 4096 * 14336, *in_layers(32, 28672, 14336, 4096)),
        dense("other", 65 * 4096),
        dense("head", 4096 * 128256),
    ),
    caches=(attention_cache(layers=32, heads=32, kv_heads=8, width=128),),
    activations="bfloat16",
)
LLAMA_1B = ModelShape(
    name="LlamaForCausalLM",
    layers=16,
    hidden=2048,
    heads=32,
    vocabulary=128256,
    weights=(
        dense("attention", 16 * 2048 * (2048 + 512) * 2, *in_layers(16, 3072, 2048, 2048)),
        dense("feed-forward", 16 * 3 * 2048 * 8192, *in_layers(16, 16384, 8192, 2048)),
        dense("other", 33 * 2048),
        dense("head", 2048 * 128256),
    ),
    caches=(attention_cache(layers=16, heads=32, kv_heads=8, width=64),),
    activations="bfloat16",
)
_EXPERTS = 32 * 8 * 3 * 4096 * 14336
MIXTRAL = ModelShape(
    name="MixtralForCausalLM",
    layers=32,
    hidden=4096,
    heads=32,
    vocabulary=32000,
    weights=(
        dense("embedding", 4096 * 32000),
        dense("attention", 32 * 4096 * (4096 + 1024) * 2),
        dense("feed-forward", 32 * 4096 * 8),
        Weights("experts", _EXPERTS, 2.0 * _EXPERTS, "bfloat16", experts=8, active=2),
        dense("other", 65 * 4096),
        dense("head", 4096 * 32000),
    ),
    caches=(attention_cache(layers=32, heads=32, kv_heads=8, width=128),),
    activations="bfloat16",
)


def model_draft(shape: ModelShape) -> DraftShape:
    return DraftShape("model", shape, False, None, shape.weight_bytes)
