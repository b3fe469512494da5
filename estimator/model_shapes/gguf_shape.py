"""The shape of a model from the header of its GGUF file, with the bytes that its weights take."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from estimator.model_shapes.gguf_header import GgufHeader, Tensor, read_header
from simulator.cost.roofline.shapes import CacheKind, CacheLayers, ModelShape, WeightKind, Weights

# Number formats that are no quantisation, by the number of their GGML type.
_PLAIN = {0: "float32", 1: "float16", 30: "bfloat16"}
# Format of activations and of the cache in llama.cpp by default.
_ACTIVATIONS = "float16"
_CACHE_BYTES = 2
_EMBEDDING, _HEAD = "token_embd.weight", "output.weight"
# One layer in so many sees all tokens, where files state a window and no pattern (llama.cpp,
# src/llama-model.cpp, set_swa_pattern).
_FULL_EVERY = {"gemma2": 2, "gemma3": 6, "gpt-oss": 2, "cohere2": 4}
# Fields of models whose caches are no keys and values of each token.
_OTHER_CACHES = ("attention.kv_lora_rank", "ssm.state_size", "wkv.head_size", "shortconv.l_cache")


def gguf_shape(path: Path) -> ModelShape:
    """Returns the shape of the model in a GGUF file; refuses latent and recurrent caches."""
    header = read_header(path)
    other = next((name for name in _OTHER_CACHES if header.of_model(name)), None)
    if other is not None:
        raise ValueError(
            f"a GGUF file's model must cache keys and values of each token, got {other} of "
            f"{header.architecture}: give its config.json and `dtype`"
        )
    layers = _number(header, "block_count") - int(header.of_model("nextn_predict_layers") or 0)
    tensors = [tensor for tensor in header.tensors if _layer(tensor) < layers]
    embedding = next((tensor for tensor in tensors if tensor.name == _EMBEDDING), None)
    if embedding is None or len(embedding.sizes) != 2:
        raise ValueError("a GGUF file must have a tensor token_embd.weight, got none")
    heads = _by_layer(header, "attention.head_count", layers)
    quantised = any(tensor.type not in _PLAIN for tensor in tensors if len(tensor.sizes) > 1)
    return ModelShape(
        name=header.architecture,
        layers=layers,
        hidden=_number(header, "embedding_length"),
        heads=max(heads),
        vocabulary=embedding.sizes[1],
        weights=_weights(header, tensors),
        caches=tuple(_caches(header, heads)),
        activations=_ACTIVATIONS,
        stored_as="gguf" if quantised else None,
    )


def _weights(header: GgufHeader, tensors: list[Tensor]) -> tuple[Weights, ...]:
    tied = all(tensor.name != _HEAD for tensor in tensors)
    values, stored = Counter[tuple[WeightKind, str]](), Counter[tuple[WeightKind, str]]()
    for tensor in tensors:
        alike = _kind(tensor, tied), _PLAIN.get(tensor.type, _ACTIVATIONS)
        size = 1
        for length in tensor.sizes:
            size *= length
        values[alike] += size
        stored[alike] += tensor.stored_bytes
    routed: dict[str, tuple[int, int, int]] = {}
    experts = [tensor.sizes[0] * tensor.sizes[1] for tensor in tensors if "_exps." in tensor.name]
    if experts:
        numbers = _number(header, "expert_count"), _number(header, "expert_used_count")
        routed = {"experts": (*numbers, min(experts) // _number(header, "embedding_length"))}
    return tuple(
        Weights(kind, count, stored[kind, form], form, *routed.get(kind, (0, 0, 0)))
        for (kind, form), count in values.items()
    )


def _kind(tensor: Tensor, tied: bool) -> WeightKind:
    if tensor.name == _HEAD or (tied and tensor.name == _EMBEDDING):
        return "head"
    if tensor.name == _EMBEDDING:
        return "embedding"
    if len(tensor.sizes) < 2:
        return "other"
    if "_exps." in tensor.name:
        return "experts"
    return "attention" if "attn" in tensor.name else "feed-forward"


def _caches(header: GgufHeader, heads: list[int]) -> Iterator[CacheLayers]:
    """Yields the caches of layers that are alike."""
    layers, width = len(heads), _number(header, "embedding_length")
    keys = int(header.of_model("attention.key_length") or width // max(heads))
    values = int(header.of_model("attention.value_length") or keys)
    shards = _by_layer(header, "attention.head_count_kv", layers, heads)
    window = header.of_model("attention.sliding_window")
    pattern = header.of_model("attention.sliding_window_pattern")
    if not isinstance(pattern, list):
        every = int(pattern or _FULL_EVERY.get(header.architecture, 0))
        pattern = [every > 0 and number % every < every - 1 for number in range(layers)]
    alike = Counter(zip(heads, shards, map(bool, pattern), strict=False))
    for (queries, kept, slides), count in alike.items():
        if kept > 0:
            sliding = window if slides and isinstance(window, int) and window > 0 else None
            cached = float(kept * (keys + values) * _CACHE_BYTES)
            operations = float(2 * queries * (keys + values))
            seen: CacheKind = "full" if sliding is None else "sliding"
            yield CacheLayers(seen, count, cached, 0.0, sliding, operations, kept)


def _layer(tensor: Tensor) -> int:
    """Returns the number of the tensor's layer; -1 outside of layers."""
    parts = tensor.name.split(".")
    return int(parts[1]) if parts[0] == "blk" and parts[1].isdecimal() else -1


def _number(header: GgufHeader, name: str) -> int:
    number = header.of_model(name)
    if not isinstance(number, int) or number < 1:
        stated = f"{header.architecture}.{name}"
        raise ValueError(f"a GGUF file must state {stated}, at least 1, got {number}")
    return number


def _by_layer(
    header: GgufHeader, name: str, layers: int, default: list[int] | None = None
) -> list[int]:
    """Returns a field that is one number for all layers, or a list with a number for each."""
    numbers = header.of_model(name)
    if isinstance(numbers, list):
        return [int(number) for number in numbers[:layers]]
    return default if numbers is None and default is not None else [_number(header, name)] * layers
