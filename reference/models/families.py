"""Peculiarities of transformers model families that decoding must know before any pass."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

# By model type: why a pass over several tokens differs from single steps.
UNFIT: Mapping[str, str] = MappingProxyType(
    {
        "cpmant": "its attention counts a prompt of its own in addition to the cache",
        "fsmt": "its decoder reads only the last token of a pass once it has a cache",
        "moshi": "only its own cache, which cannot roll back, keeps its attention window",
        "prophetnet": "its decoder takes one token a pass once it has a cache",
    }
)
# Names of the setting for the most positions of a text; the decoder's first.
POSITIONS = ("max_decoder_position_embeddings", "max_position_embeddings", "max_seq_len")
ENCODER_POSITIONS = ("max_encoder_position_embeddings", *POSITIONS)
# Families whose attention uses distances only, which padding on the left does not change.
DISTANCES_ALONE = frozenset({"bloom", "mpt"})
# By name, the values with which a setting of generation has no effect.
NEUTRAL: Mapping[str, tuple[object, ...]] = MappingProxyType(
    {
        "temperature": (1.0,), "top_k": (0,), "top_p": (1.0,), "min_p": (0.0,), "top_h": (),
        "typical_p": (1.0,), "epsilon_cutoff": (0.0,), "eta_cutoff": (0.0,),
        "repetition_penalty": (1.0,), "encoder_repetition_penalty": (1.0,),
        "no_repeat_ngram_size": (0,), "encoder_no_repeat_ngram_size": (0,), "num_beams": (1,),
        "min_length": (0,), "min_new_tokens": (0,), "forced_eos_token_id": (),
        "begin_suppress_tokens": ([],), "exponential_decay_length_penalty": (),
        "guidance_scale": (1.0,), "sequence_bias": (),
    }
)  # fmt: skip


def require_fit(config: Any, name: str) -> None:
    """Refuses a model whose passes over several tokens differ from its single steps."""
    reason = UNFIT.get(config.model_type)
    if _drops_tokens(config):
        reason = "its experts have a capacity, beyond which a pass drops tokens that steps keep"
    if reason is not None:
        raise ValueError(
            f"{name} ({config.model_type}) cannot be decoded speculatively: {reason}; choose a "
            "model of another family"
        )


def _drops_tokens(config: Any) -> bool:
    """Returns whether an expert drops tokens if too many tokens of a pass choose it."""
    if getattr(config, "expert_capacity", None) is None:
        return False
    # NLLB-MoE's capacity is a share of the pass; at 1 no token is dropped.
    return float(getattr(config, "moe_eval_capacity_token_fraction", 0.0)) < 1


def position_limit(config: Any, names: tuple[str, ...]) -> int | None:
    """Returns the first setting in `names` that a configuration has; None if it has none."""
    found = (getattr(config, name, None) for name in names)
    return next((int(limit) for limit in found if limit is not None), None)


def rope_switch_length(config: Any) -> int | None:
    """Returns the text length up to which a long-RoPE model uses its short factors, or None.

    All positions of a pass use the factors for its last position. So the cache of a text that grows
    across this length would mix short and long factors (Phi-3 and Phi-4 with 128k positions).
    """
    parameters = getattr(config, "rope_parameters", None) or {}
    kinds = parameters.values() if "rope_type" not in parameters else [parameters]
    long = [
        kind for kind in kinds if isinstance(kind, dict) and kind.get("rope_type") == "longrope"
    ]
    return min((int(kind["original_max_position_embeddings"]) for kind in long), default=None)


def leaves_padding_out(part: Any) -> bool:
    """Returns whether part of a model skips padding ids when it counts positions."""
    return hasattr(part, "create_position_ids_from_input_ids")


def unapplied_settings(generation_config: Any) -> dict[str, object]:
    """Returns a model's own generation settings that this decoder ignores, by name."""
    stated = {name: getattr(generation_config, name, None) for name in NEUTRAL}
    return {
        name: value
        for name, value in stated.items()
        if value is not None and value not in NEUTRAL[name]
    }
