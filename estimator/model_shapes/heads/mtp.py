"""Multi-token prediction: layers in the target's checkpoint, or an assistant of its own."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from estimator.model_shapes.counting import build, decoder_config
from estimator.model_shapes.head_kind import Head, HeadKind, class_names
from estimator.model_shapes.shape import stored_weights
from estimator.model_shapes.weights_and_caches import count_weights, first_size
from simulator.cost.roofline.shapes import CacheLayers, DraftShape, ModelShape

# Names of the number of layers in configurations; the first that is set counts.
LAYERS = (
    "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers", "num_mtp_modules",
)  # fmt: skip
_NESTED = ("text_config", "mtp_config")


def _recognises(config: Mapping[str, Any], target: Mapping[str, Any]) -> bool:
    if "mtp" not in class_names(config) and config != target:
        return False
    if layers_of(config) > 0:
        return True
    if config == target:
        raise ValueError(
            "draft-config must differ from the target's, which has no head for multi-token "
            f"prediction ({LAYERS[0]}), got the same"
        )
    raise ValueError(f"config.json of MTP must have {LAYERS[0]} of at least 1, got none")


def layers_of(config: Mapping[str, Any]) -> int:
    """Returns the number of layers for multi-token prediction that a configuration states, or 0."""
    places = [place for place in (config, *map(config.get, _NESTED)) if isinstance(place, Mapping)]
    return first_size(place.get(name) for place in places for name in LAYERS) or 0


def mtp(head: Head) -> DraftShape:
    """Returns the shape of a head of multi-token prediction (DeepSeek-AI 2024, §2.2).

    The head has K layers like the target's last decoder layer. Each layer drafts one token; to
    draft more than K tokens, the layers run again. A layer also has a projection that joins the
    normed embedding and the normed hidden state, and one more norm. The head uses the target's
    embedding and output matrix. Refuses a configuration that states no layer.
    """
    layers = layers_of(head.config)
    if layers == 0:
        raise ValueError(f"{LAYERS[0]} in config.json of MTP must be at least 1, got none")
    stored, target = head.stored, head.target
    last = head.count(head.config, stored.kept, "last layer")
    if last.hidden != target.hidden:
        head.require_width("hidden_size", last.hidden)
    step = head.step(
        f"{last.name} MTP",
        *stored_weights(last.weights, stored),
        head.weights("feed-forward", 2 * target.hidden * target.hidden),
        head.weights("other", 3 * target.hidden),
        *head.borrowed_head,
        caches=last.caches,
    )
    held_bytes = layers * step.weight_bytes
    return DraftShape("MTP", step, False, None, held_bytes, multiple=layers)


MTP = HeadKind(
    "MTP",
    match_priority=8,
    shape=mtp,
    prior="MTP",
    recognises=_recognises,
    methods={"vllm": "mtp", "sglang": "EAGLE", "tensorrt-llm": "MTP", "llama.cpp": "draft-mtp"},
    speculators="mtp",
    in_target=True,
)


def gemma_assistant(head: Head) -> DraftShape:
    """Returns the shape of a Gemma assistant (Gemma team 2026), which reads the target's caches.

    Projections map embedding and state from the target's width to the assistant's, and back. With
    `use_ordered_embeddings` a step reads the output rows of only the likeliest groups of tokens.
    """
    wide = head.require_width("backbone_hidden_size", head.integer("backbone_hidden_size"))
    text, model = _assistant(head)
    width = text.hidden_size
    weights = stored_weights(count_weights(model, text, head.stored.kept), head.stored)
    groups = head.integer("num_centroids") if head.config.get("use_ordered_embeddings") else 0
    if groups > 0:
        active = head.integer("centroid_intermediate_top_k")
        weights = tuple(
            replace(weight, experts=groups, active=active) if weight.kind == "head" else weight
            for weight in weights
        )
    step = ModelShape(
        name="Gemma assistant",
        layers=text.num_hidden_layers,
        hidden=width,
        heads=text.num_attention_heads,
        vocabulary=text.vocab_size,
        weights=(*weights, head.weights("feed-forward", 3 * width * wide + groups * width)),
        caches=_caches(text, head.target),
        activations=head.stored.activations,
    )
    return DraftShape("Gemma assistant", step, False, None, step.weight_bytes)


def _assistant(head: Head) -> tuple[Any, Any]:
    """Returns the assistant's text configuration, and its model without key and value matrices."""
    described = head.config.get("text_config")
    if not isinstance(described, Mapping):
        raise ValueError(
            f"text_config in config.json of {head.kind.name} must be an object, got {described!r}"
        )
    # transformers cannot build a model in which every layer reads another layer's cache.
    text = decoder_config({**described, "num_kv_shared_layers": 0, "tie_word_embeddings": True})
    model = build(text, model_type=str(described.get("model_type")))
    for module in model.modules():
        for name in ("k_proj", "v_proj", "k_norm", "v_norm"):
            if name in module._modules:
                module._modules[name] = None
    return text, model


def _caches(text: Any, target: ModelShape) -> tuple[CacheLayers, ...]:
    """Returns the caches that the assistant reads: the target's last one of each attention kind."""
    caches = []
    for windowed, attention in ((True, "sliding_attention"), (False, "full_attention")):
        layers = zip(text.per_layer_config, text.layer_types, strict=True)
        alike = [layer for layer, its_kind in layers if its_kind == attention]
        read = [cache for cache in target.caches if (cache.kind == "sliding") == windowed]
        if alike and not read:
            raise ValueError(
                f"an assistant reads {attention} of its target, {target.name} has none"
            )
        if alike:
            operations = float(4 * alike[0].num_attention_heads * alike[0].head_dim)
            caches.append(replace(read[-1], layers=len(alike), held=False, operations=operations))
    return tuple(caches)


GEMMA_ASSISTANT = HeadKind(
    "Gemma assistant",
    match_priority=0,
    shape=gemma_assistant,
    prior="MTP",
    types=("gemma4_assistant", "gemma4_unified_assistant"),
    methods={"vllm": "mtp", "llama.cpp": "draft-mtp"},
)
