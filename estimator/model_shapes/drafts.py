"""Reads drafts from their config.json: models, and heads on the target's hidden states."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from estimator.model_shapes.head_kind import Head, HeadKind, head_kinds
from estimator.model_shapes.meta_pass import read_config
from estimator.model_shapes.shape import Count, count, shape_of
from simulator.cost.roofline.shapes import DraftKind, DraftShape, ModelShape


def draft_kind(config: Mapping[str, Any], *, target: Mapping[str, Any]) -> DraftKind:
    """Returns the kind of the draft that a config.json describes; the target's own means MTP."""
    kind = _head_kind(config, target)
    return "model" if kind is None else kind.name


def draft_of(
    config: Mapping[str, Any],
    *,
    target: Mapping[str, Any],
    target_shape: ModelShape,
    dtype: str | None = None,
    activations: str | None = None,
    count: Count = count,
) -> DraftShape:
    """Returns the shape of the draft that a configuration describes.

    config: the draft's parsed config.json; the target's own describes its MTP head.
    target, target_shape: the target's parsed config.json, and its shape.
    dtype, activations, count: see shape_of.
    """
    kind = _head_kind(config, target)
    if kind is not None:
        flat = flattened(config)
        return kind.shape(Head(kind.name, flat, target_shape, dtype, activations, count))
    shape = shape_of(config, dtype=dtype, activations=activations, count=count)
    return DraftShape("model", shape, False, None, shape.weight_bytes)


def _head_kind(config: Mapping[str, Any], target: Mapping[str, Any]) -> HeadKind | None:
    flat = flattened(config)  # refuses unknown formats
    if MARK in config:
        return next(kind for kind in head_kinds() if kind.speculators == config[MARK])
    return next((kind for kind in head_kinds() if kind.recognises(flat, target)), None)


def read_pair(
    target_file: Path,
    draft_file: Path,
    *,
    dtype: str | None = None,
    draft_dtype: str | None = None,
    activations: str | None = None,
    uncached: bool = False,
) -> tuple[ModelShape, DraftShape]:
    """Returns the shapes of both models; refuses files that are no usable config.json.

    dtype, activations: see shape_of.
    draft_dtype: number format of the draft's weights; None: dtype.
    uncached: whether to count both models without reading or writing the cache of counts.
    """
    from estimator.model_shapes.kept_counts import count_once

    counts = count if uncached else count_once
    target_config, draft_config = read_config(target_file), read_config(draft_file)
    head = _head_kind(target_config, {} if target_config == draft_config else draft_config)
    if head is not None:
        raise ValueError(
            f"{target_file} must be the configuration of a target, got one of {head.name}, a head: "
            "are --target-config and --draft-config swapped?"
        )
    try:
        target = shape_of(target_config, dtype=dtype, activations=activations, count=counts)
    except ValueError as error:
        raise ValueError(f"{target_file}: {error}") from None
    try:
        draft = draft_of(
            draft_config,
            target=target_config,
            target_shape=target,
            dtype=dtype if draft_dtype is None else draft_dtype,
            activations=activations,
            count=counts,
        )
    except ValueError as error:
        raise ValueError(f"{draft_file}: {error}") from None
    return target, draft


MARK = "speculators_model_type"
_LAYERS, _DRAFTING = "transformer_layer_config", "speculators_config"
# The format's own reader assumes this for layers without an architecture.
_ARCHITECTURE = "qwen3"


def flattened(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a configuration in one object: sizes of layers and settings of drafting.

    `speculative_tokens` is taken from its proposal method. Configurations in other formats are
    returned unchanged. Refuses unknown types, and missing layers.
    """
    if MARK not in config:
        return config
    kind = config[MARK]
    known = sorted(each.speculators for each in head_kinds() if each.speculators is not None)
    if kind not in known:
        raise ValueError(f"{MARK} must be one of {', '.join(known)}, got {kind}")
    layers = config.get(_LAYERS)
    if not isinstance(layers, Mapping):
        raise ValueError(
            f"{_LAYERS} in config.json of {MARK} {kind} must be an object, got {layers!r}"
        )
    stated = {
        name: value
        for name, value in config.items()
        if name not in (_LAYERS, _DRAFTING, "model_type") and value is not None
    }
    tokens = _tokens(config.get(_DRAFTING))
    return {
        "model_type": _ARCHITECTURE,
        **layers,
        **stated,
        **({} if tokens is None else {"speculative_tokens": tokens}),
    }


def _tokens(drafting: Any) -> Any:
    """Returns the number of tokens of the default drafting method, else of the first one."""
    methods = drafting.get("proposal_methods") if isinstance(drafting, Mapping) else None
    if not isinstance(methods, list) or not all(isinstance(each, Mapping) for each in methods):
        return None
    default = drafting.get("default_proposal_method")
    ordered = sorted(methods, key=lambda each: each.get("proposal_type") != default)
    return ordered[0].get("speculative_tokens") if ordered else None
