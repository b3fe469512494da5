"""Heads that draft from the target's hidden states: EAGLE-3, P-EAGLE, DFlash, Medusa and MTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from estimator.shapes.counted import Count, count
from estimator.shapes.shape import shape_of, stored_weights
from estimator.shapes.storage import Storage, storage
from simulator.cost.draft_shape import DraftKind, DraftShape
from simulator.cost.model_shape import ModelShape, WeightKind, Weights


def eagle3(
    config: Mapping[str, Any],
    *,
    kind: DraftKind,
    target: ModelShape,
    dtype: str | None = None,
    activations: str | None = None,
    count: Count = count,
) -> DraftShape:
    """Returns an EAGLE-3 head (Li et al. 2025), or one that drafts all positions in one pass.

    Its first layer's attention reads embedding and hidden state side by side, twice the width;
    three of the target's hidden states are projected to one, once a block; its output matrix has
    the draft's own vocabulary, its embedding is the target's.

    Args:
      config: its parsed config.json.
      kind: "EAGLE-3", or "P-EAGLE" for parallel drafting.
      target: the target.
      dtype, activations, count: as in shape_of.

    Raises:
      ValueError: if it is for a target of another width, or cannot be counted.
    """
    stored = storage(config, dtype=dtype, activations=activations)
    width = _integer(config, "hidden_size")
    nested = config.get("eagle_config")
    tapped = _target_width(config, target, width)
    layers = nested.get("eagle_aux_hidden_state_layer_ids") if isinstance(nested, Mapping) else None
    vocabulary = config.get("draft_vocab_size")
    body = shape_of(
        {
            "model_type": "llama",
            **config,
            "vocab_size": _integer(config, "vocab_size") if vocabulary is None else vocabulary,
            "tie_word_embeddings": False,
        },
        dtype=dtype,
        activations=activations,
        count=count,
    )
    head_width = config.get("head_dim") or width // body.heads
    cached = int(config.get("num_key_value_heads") or body.heads)
    wider = (body.heads + 2 * cached) * head_width * width
    return _draft(
        kind,
        body,
        added=(_weights("attention", wider, stored),),
        once=_weights("feed-forward", (len(layers) if layers else 3) * tapped * width, stored),
        parallel=kind == "P-EAGLE",
    )


def dflash(
    config: Mapping[str, Any],
    *,
    target: ModelShape,
    dtype: str | None = None,
    activations: str | None = None,
    count: Count = count,
) -> DraftShape:
    """Returns a DFlash head (Chen et al. 2026): a few layers that fill a block in one pass.

    It takes embedding and output matrix from the target, and a projection of some of its layers'
    hidden states as further keys and values. Arguments and errors as in eagle3.
    """
    stored = storage(config, dtype=dtype, activations=activations)
    width = _integer(config, "hidden_size")
    tapped = _target_width(config, target, width)
    nested = config.get("dflash_config")
    layers = nested.get("target_layer_ids") if isinstance(nested, Mapping) else None
    block = _integer(config, "block_size")
    body = shape_of(
        {"model_type": "qwen3", **config, "tie_word_embeddings": False},
        dtype=dtype,
        activations=activations,
        count=count,
    )
    taps = len(layers) if layers else body.layers
    body = replace(body, weights=tuple(w for w in body.weights if w.kind != "head"))
    return _draft(
        "DFlash",
        body,
        added=_borrowed_head(target),
        once=_weights("feed-forward", taps * tapped * width, stored),
        parallel=True,
        longest=max(1, block - 1),
    )


def medusa(
    config: Mapping[str, Any],
    *,
    target: ModelShape,
    dtype: str | None = None,
    activations: str | None = None,
) -> DraftShape:
    """Returns the heads of Medusa (Cai et al. 2024): each drafts one position by residual blocks.

    A step is one head; γ of them are read for γ tokens. Arguments and errors as in eagle3; what the
    configuration does not say of width and vocabulary is the target's.
    """
    stored = storage({"dtype": "bfloat16", **config}, dtype=dtype, activations=activations)
    width = config.get("hidden_size", target.hidden)
    _same_width("hidden_size", width, target)
    names = ("medusa_num_heads", "num_heads")
    heads = next((config[name] for name in names if isinstance(config.get(name), int)), None)
    if heads is None or heads < 1:
        raise ValueError(f"config.json of Medusa must have {names[0]} of at least 1, got {heads}")
    layers = int(config.get("medusa_num_layers", config.get("num_hidden_layers", 1)))
    vocabulary = int(config.get("truncated_vocab_size") or target.vocabulary)
    weights = (
        _weights("feed-forward", layers * (width + 1) * width, stored),
        _weights("head", width * vocabulary, stored),
    )
    step = ModelShape(
        name="MedusaModel",
        layers=1,
        hidden=width,
        heads=target.heads,
        vocabulary=vocabulary,
        weights=weights,
        caches=(),
        activations=stored.activations,
    )
    return DraftShape("Medusa", step, False, heads, heads * step.weight_bytes)


def mtp(
    config: Mapping[str, Any],
    *,
    layers: int,
    target: ModelShape,
    dtype: str | None = None,
    activations: str | None = None,
    count: Count = count,
) -> DraftShape:
    """Returns a head of multi-token prediction (DeepSeek-AI 2024, §2.2): one more decoder layer.

    The layer is like the target's last one; a projection joins its embedding and hidden state;
    embedding and output matrix are the target's.

    Args:
      config: the target's parsed config.json, or one that describes the head in the same terms.
      layers: how many such layers there are; each token drafted takes one of them.
      target: the target.
      dtype, activations, count: as in shape_of.

    Raises:
      ValueError: if it cannot be counted.
    """
    stored = storage(config, dtype=dtype, activations=activations)
    last = count(config, stored.kept, "last layer")
    step = ModelShape(
        name=f"{last.name} MTP",
        layers=1,
        hidden=target.hidden,
        heads=target.heads,
        vocabulary=target.vocabulary,
        weights=(
            *stored_weights(last.weights, stored),
            _weights("feed-forward", 2 * target.hidden * target.hidden, stored),
            *_borrowed_head(target),
        ),
        caches=last.caches,
        activations=stored.activations,
    )
    return DraftShape("MTP", step, False, None, layers * step.weight_bytes)


def _draft(
    kind: DraftKind,
    body: ModelShape,
    *,
    added: tuple[Weights, ...],
    once: Weights,
    parallel: bool,
    longest: int | None = None,
) -> DraftShape:
    """Returns the draft of a body, its embedding being the target's.

    added: weights of every step; once: those that a block needs once.
    """
    own = tuple(each for each in body.weights if each.kind != "embedding")
    step = replace(body, name=f"{kind} head", weights=(*own, *added))
    held = step.weight_bytes + once.stored_bytes
    return DraftShape(kind, step, parallel, longest, held, once=(once,))


def _weights(kind: WeightKind, values: int, stored: Storage) -> Weights:
    form = stored.plain if kind == "head" else stored.quantised
    return Weights(
        kind=kind,
        values=values,
        stored_bytes=values * form.bytes_per_value,
        computed_in=form.product_format(stored.activations),
    )


def _borrowed_head(target: ModelShape) -> tuple[Weights, ...]:
    return tuple(replace(each, held=False) for each in target.weights if each.kind == "head")


def _target_width(config: Mapping[str, Any], target: ModelShape, width: int) -> int:
    tapped = config.get("target_hidden_size")
    _same_width("hidden_size" if tapped is None else "target_hidden_size", tapped or width, target)
    return int(tapped or width)


def _same_width(name: str, width: Any, target: ModelShape) -> None:
    if width != target.hidden:
        raise ValueError(
            f"{name} of the draft must be that of {target.name}, {target.hidden}, got {width}"
        )


def _integer(config: Mapping[str, Any], name: str) -> int:
    value = config.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} in config.json must be an integer of at least 1, got {value!r}")
    return value
