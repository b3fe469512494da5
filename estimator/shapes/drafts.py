"""Drafts by their config.json: models, and heads that draft from the target's hidden states."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from estimator.shapes.counted import Count, count
from estimator.shapes.head_kind import Head, HeadKind, head_kinds
from estimator.shapes.meta_pass import read_config
from estimator.shapes.shape import shape_of
from estimator.shapes.speculators import MARK, flattened
from simulator.cost.draft_shape import DraftKind, DraftShape
from simulator.cost.model_shape import ModelShape


def draft_kind(config: Mapping[str, Any], *, target: Mapping[str, Any]) -> DraftKind:
    """Returns what a draft's configuration describes.

    The target's own configuration given again is its head for multi-token prediction, where it has
    one.

    Raises:
      ValueError: if it is the target's own and has no such head, or of a format that is not known.
    """
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
    """Returns the draft that a configuration describes.

    Args:
      config: the draft's parsed config.json; the target's own for its head of multi-token
        prediction.
      target_shape: what was counted of it: heads share its output matrix, and take its width.
      dtype: number format of the draft's weights; without it, its configuration's.
      activations, count: as in shape_of.

    Raises:
      ValueError: if the configuration cannot be counted, or is of a head for a target of another
        width; the message names the key and the kind of draft that must have it.
    """
    kind = _head_kind(config, target)
    if kind is not None:
        flat = flattened(config)
        return kind.shape(Head(kind.name, flat, target_shape, dtype, activations, count))
    shape = shape_of(config, dtype=dtype, activations=activations, count=count)
    return DraftShape("model", shape, False, None, shape.weight_bytes)


def _head_kind(config: Mapping[str, Any], target: Mapping[str, Any]) -> HeadKind | None:
    flat = flattened(config)   # refuses what is not known
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
    anew: bool = False,
) -> tuple[ModelShape, DraftShape]:
    """Returns the shapes of both models.

    Args:
      dtype: format of the weights; None: each configuration's own.
      draft_dtype: of the draft's; None: dtype.
      activations: format of activations; None: each configuration's own.
      anew: whether to count both models, and to keep nothing, though their counts may be at hand.

    Raises:
      OSError: if a file cannot be read.
      ValueError: if one is no usable config.json; the message names it.
    """
    from estimator.shapes.kept_counts import count_once

    counts = count if anew else count_once
    target_config, draft_config = read_config(target_file), read_config(draft_file)
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
