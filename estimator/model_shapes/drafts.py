"""Reads drafts from their config.json: models, and heads on the target's hidden states."""

import errno
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from estimator.model_shapes.counting import Count, count
from estimator.model_shapes.gguf_header import is_gguf
from estimator.model_shapes.gguf_shape import gguf_shape
from estimator.model_shapes.head_kind import Head, HeadKind, head_kinds
from estimator.model_shapes.kept_counts import count_once
from estimator.model_shapes.shape import shape_of, storage
from estimator.model_shapes.weights_and_caches import first_size
from reference.files import read_json
from simulator.cost.roofline.shapes import DraftShape, ModelShape

_MARK = "speculators_model_type"
_LAYERS, _DRAFTING = "transformer_layer_config", "speculators_config"
_NESTED = (_LAYERS, _DRAFTING, "model_type")
# The format's own reader assumes this for layers without an architecture.
_ARCHITECTURE = "qwen3"


def read_pair(
    target_file: Path,
    draft_file: Path,
    *,
    dtype: str | None = None,
    draft_dtype: str | None = None,
    activations: str | None = None,
    uncached: bool = False,
) -> tuple[ModelShape, DraftShape]:
    """Returns the shapes of the target and the draft, from config.json or GGUF files.

    Refuses other files, and a dtype of weights that a GGUF file states itself.

    dtype, activations: number formats of weights and activations, as in `shape_of`.
    draft_dtype: number format of the draft's weights; None: dtype.
    uncached: whether to count both models afresh, without the user's cache of earlier counts.
    """
    counts = count if uncached else count_once
    # A GGUF file has no configuration for heads to be recognised by.
    target_config, draft_config = (
        {} if is_gguf(file) else _read_config(file) for file in (target_file, draft_file)
    )
    alike = target_config == draft_config
    head = (
        None
        if is_gguf(target_file)
        else kind_of(target_config, target={} if alike else draft_config)
    )
    if head is not None:
        raise ValueError(
            f"{target_file} must be the configuration of a target, got one of {head.name}, a head: "
            "are target and draft swapped?"
        )
    file = target_file
    try:
        if is_gguf(target_file):
            target = _gguf_shape(target_file, dtype)
            dtype = None
        else:
            target = shape_of(target_config, dtype=dtype, activations=activations, count=counts)
        file = draft_file
        if is_gguf(draft_file):
            shape = _gguf_shape(draft_file, draft_dtype)
            return target, DraftShape("model", shape, False, None, shape.weight_bytes)
        draft = draft_of(
            draft_config,
            target=target_config,
            target_shape=target,
            dtype=dtype if draft_dtype is None else draft_dtype,
            activations=activations,
            count=counts,
        )
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    return target, draft


def _gguf_shape(path: Path, dtype: str | None) -> ModelShape:
    if dtype is not None:
        raise ValueError(f"dtype must not be given with a GGUF file, which states it, got {dtype}")
    return gguf_shape(path)


def _read_config(path: Path) -> dict[str, Any]:
    """Returns the JSON object of a config.json, given as a file or its folder."""
    file = path / "config.json" if path.is_dir() else path
    if not file.exists():
        hub = f"; from the hub: hf download {path} config.json --local-dir {path.name}"
        named = re.fullmatch(r"[\w.-]+/[\w.-]+(?<!\.json)", str(path)) and file == path
        what = "no such file: give the path of a config.json" + (hub if named else "")
        raise FileNotFoundError(errno.ENOENT, what, str(file))
    config: Any = read_json(file)
    if not isinstance(config, dict):
        raise ValueError(f"{file} must hold a JSON object, got a {type(config).__name__}")
    return config


def draft_of(
    config: Mapping[str, Any],
    *,
    target: Mapping[str, Any],
    target_shape: ModelShape,
    dtype: str | None = None,
    activations: str | None = None,
    count: Count = count,
) -> DraftShape:
    """Returns the shape of the draft that a parsed config.json describes.

    config: the draft's configuration. The target's own MTP head has the target's configuration.
    target, target_shape: the target's configuration, and its shape.
    dtype, activations, count: as in `shape_of`.
    """
    kind, flat = kind_of(config, target=target), _flattened(config)
    shape = partial(shape_of, dtype=dtype, activations=activations, count=count)
    stored = partial(storage, dtype=dtype, activations=activations)
    if kind is None:
        model = shape(config)
        return DraftShape("model", model, False, None, model.weight_bytes)
    nested = flat.get(kind.nested)
    whole = {**flat, **nested} if isinstance(nested, Mapping) else flat
    draft = kind.shape(Head(kind, whole, target_shape, shape, stored, count))
    gamma = flat.get("speculative_tokens", flat.get("num_lookahead_tokens"))
    return replace(draft, stated_gamma=first_size([gamma]))


def kind_of(config: Mapping[str, Any], *, target: Mapping[str, Any]) -> HeadKind | None:
    """Returns the kind of head that a config.json describes; None if it describes a whole model."""
    if _MARK in _flattened(config):  # refuses unknown formats
        return next(kind for kind in head_kinds() if kind.speculators == config[_MARK])
    return next((kind for kind in head_kinds() if kind.describes(config, target)), None)


def _flattened(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a `speculators` configuration with the keys of nested objects at the top level.

    Configurations in other formats are returned unchanged. Refuses unknown types of head, and a
    configuration without layers.
    """
    if _MARK not in config:
        return config
    speculators = config[_MARK]
    known = sorted(kind.speculators for kind in head_kinds() if kind.speculators is not None)
    if speculators not in known:
        raise ValueError(f"{_MARK} must be one of {', '.join(known)}, got {speculators}")
    layers = config.get(_LAYERS)
    if not isinstance(layers, Mapping):
        raise ValueError(
            f"{_LAYERS} in config.json of {_MARK} {speculators} must be an object, got {layers!r}"
        )
    flat = {"model_type": _ARCHITECTURE, **layers}
    flat |= {n: value for n, value in config.items() if n not in _NESTED and value is not None}
    tokens = _tokens(config.get(_DRAFTING))
    return flat if tokens is None else flat | {"speculative_tokens": tokens}


def _tokens(drafting: Any) -> Any:
    """Returns the draft length of the default method in a speculators_config, else the first's."""
    methods = drafting.get("proposal_methods") if isinstance(drafting, Mapping) else None
    if not isinstance(methods, list) or not all(isinstance(method, Mapping) for method in methods):
        return None
    default = drafting.get("default_proposal_method")
    chosen: Mapping[str, Any] = min(
        methods, key=lambda method: method.get("proposal_type") != default, default={}
    )
    return chosen.get("speculative_tokens")
