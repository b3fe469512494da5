"""Gemma's assistants: a few narrow layers that read the target's keys and values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from estimator.model_shapes.counting import build, decoder_config
from estimator.model_shapes.head_kind import Head, HeadKind
from estimator.model_shapes.shape import stored_weights
from estimator.model_shapes.weights_and_caches import count_weights
from simulator.cost.roofline.shapes import CacheLayers, DraftShape, ModelShape

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def gemma_assistant(head: Head) -> DraftShape:
    """Returns a Gemma assistant (Gemma team 2026), which drafts token by token without own caches.

    Projections map embedding and state from the target's width to the assistant's, and back. With
    `use_ordered_embeddings` a step reads the output rows of only the likeliest groups of tokens.
    """
    wide = head.require_width("backbone_hidden_size", head.integer("backbone_hidden_size"))
    text, model = _layers(head)
    width = text.hidden_size
    weights = stored_weights(count_weights(model, text, head.stored.kept), head.stored)
    groups = head.integer("num_centroids") if head.config.get("use_ordered_embeddings") else 0
    if groups > 0:
        active = head.integer("centroid_intermediate_top_k")
        weights = tuple(
            replace(each, experts=groups, active=active) if each.kind == "head" else each
            for each in weights
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


def _layers(head: Head) -> tuple[Any, PreTrainedModel]:
    """Returns the assistant's text configuration and model, without key and value projections."""
    described = head.config.get("text_config")
    if not isinstance(described, Mapping):
        raise ValueError(
            f"text_config in config.json of {head.kind.name} must be an object, got {described!r}"
        )
    # transformers cannot build a model in which every layer reads another layer's cache.
    text = decoder_config({**described, "num_kv_shared_layers": 0, "tie_word_embeddings": True})
    model = build(text, kind=str(described.get("model_type")))
    for module in model.modules():
        for made in ("k_proj", "v_proj", "k_norm", "v_norm"):
            if made in module._modules:
                module._modules[made] = None
    return text, model


def _caches(text: Any, target: ModelShape) -> tuple[CacheLayers, ...]:
    """Returns the caches that the assistant reads: the last target layer's, per attention kind."""
    found = []
    for windowed, kind in ((True, "sliding_attention"), (False, "full_attention")):
        layers = zip(text.per_layer_config, text.layer_types, strict=True)
        alike = [layer for layer, its_kind in layers if its_kind == kind]
        read = [each for each in target.caches if (each.kind == "sliding") == windowed]
        if alike and not read:
            raise ValueError(f"an assistant reads {kind} of its target, {target.name} has none")
        if alike:
            operations = float(4 * alike[0].num_attention_heads * alike[0].head_dim)
            found.append(replace(read[-1], layers=len(alike), held=False, operations=operations))
    return tuple(found)


GEMMA_ASSISTANT = HeadKind(
    "Gemma assistant",
    match_priority=0,
    shape=gemma_assistant,
    prior="MTP",
    types=("gemma4_assistant", "gemma4_unified_assistant"),
    methods={"vllm": "mtp", "llama.cpp": "draft-mtp"},
)
