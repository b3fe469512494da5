"""The speculators format: sizes in `transformer_layer_config`, drafting in `speculators_config`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimator.shapes.head_kind import head_kinds

MARK = "speculators_model_type"
_LAYERS, _DRAFTING = "transformer_layer_config", "speculators_config"
# What the format's own reader takes for layers that name no architecture.
_ARCHITECTURE = "qwen3"


def flattened(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a configuration with the sizes of its layers beside what says how it drafts.

    `speculative_tokens` is that of the proposal method which it drafts by. One of another format is
    returned as it is.

    Raises:
      ValueError: if its type is not known, or what describes its layers is missing.
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
    own = {name: value for name, value in config.items() if name not in (_LAYERS, _DRAFTING)}
    stated = {name: value for name, value in own.items() if value is not None}
    tokens = _tokens(config.get(_DRAFTING))
    return {
        "model_type": _ARCHITECTURE,
        **layers,
        **{name: value for name, value in stated.items() if name != "model_type"},
        **({} if tokens is None else {"speculative_tokens": tokens}),
    }


def _tokens(drafting: Any) -> Any:
    """Returns how many tokens the method drafts that is the default, else the first."""
    methods = drafting.get("proposal_methods") if isinstance(drafting, Mapping) else None
    if not isinstance(methods, list) or not all(isinstance(each, Mapping) for each in methods):
        return None
    default = drafting.get("default_proposal_method")
    ordered = sorted(methods, key=lambda each: each.get("proposal_type") != default)
    return ordered[0].get("speculative_tokens") if ordered else None
