"""Drafts by their config.json: models, and heads that draft from the target's hidden states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimator.shapes.counted import Count, count
from estimator.shapes.shape import shape_of
from estimator.shapes.trained_heads import dflash, eagle3, medusa, mtp
from simulator.cost.draft_shape import DraftKind, DraftShape
from simulator.cost.model_shape import ModelShape

_MTP_LAYERS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers")


def draft_kind(config: Mapping[str, Any], *, target: Mapping[str, Any]) -> DraftKind:
    """Returns what a draft's configuration describes.

    The target's own configuration given again is its head for multi-token prediction, where it has
    one.

    Args:
      config: the draft's parsed config.json.
      target: the target's.

    Raises:
      ValueError: if it is the target's own and has no such head.
    """
    names = " ".join(map(str, config.get("architectures") or ())).lower()
    if "dflash" in names or "dflash_config" in config:
        return "DFlash"
    if "medusa" in names or "medusa_num_heads" in config or config.get("model_type") == "medusa":
        return "Medusa"
    if "eagle3" in names or "draft_vocab_size" in config:
        parallel = config.get("parallel_drafting") is True
        return "P-EAGLE" if parallel or "ptd_token_id" in config else "EAGLE-3"
    if "mtp" in names or config == target:
        if mtp_layers(config) == 0:
            raise ValueError(
                "draft-config must differ from the target's, which has no head for multi-token "
                f"prediction ({_MTP_LAYERS[0]}), got the same"
            )
        return "MTP"
    return "model"


def mtp_layers(config: Mapping[str, Any]) -> int:
    """Returns how many layers of multi-token prediction a configuration has."""
    for fields in (config, config.get("text_config")):
        if isinstance(fields, Mapping):
            for name in _MTP_LAYERS:
                value = fields.get(name)
                if isinstance(value, int) and value > 0:
                    return value
    return 0


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
      target: the target's parsed config.json.
      target_shape: what was counted of it: heads share its output matrix, and take its width.
      dtype: number format of the draft's weights; without it, its configuration's.
      activations, count: as in shape_of.

    Raises:
      ValueError: if the configuration cannot be counted, or is of a head for a target of another
        width.
    """
    kind = draft_kind(config, target=target)
    if kind == "Medusa":
        return medusa(config, target=target_shape, dtype=dtype, activations=activations)
    asked: Any = {"dtype": dtype, "activations": activations, "count": count}
    if kind in ("EAGLE-3", "P-EAGLE"):
        return eagle3(config, kind=kind, target=target_shape, **asked)
    if kind == "DFlash":
        return dflash(config, target=target_shape, **asked)
    if kind == "MTP":
        return mtp(config, layers=mtp_layers(config), target=target_shape, **asked)
    shape = shape_of(config, **asked)
    return DraftShape("model", shape, False, None, shape.weight_bytes)
