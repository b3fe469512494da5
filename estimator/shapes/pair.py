"""The shapes of a target and its draft, read from their config.json."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from estimator.shapes.configuration import read_config

if TYPE_CHECKING:
    from simulator.cost.draft_shape import DraftShape
    from simulator.cost.model_shape import ModelShape


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
      target_file, draft_file: config.json, or their folders.
      dtype: format of the weights; None: each configuration's own.
      draft_dtype: of the draft's; None: dtype.
      activations: format of activations; None: each configuration's own.
      anew: whether to count both models, and to keep nothing, though their counts may be at hand.

    Raises:
      OSError: if a file cannot be read.
      ValueError: if one is no usable config.json; the message names it.
    """
    from estimator.shapes.counted import count
    from estimator.shapes.drafts import draft_of
    from estimator.shapes.kept_counts import count_once
    from estimator.shapes.shape import shape_of

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
