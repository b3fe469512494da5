"""Multi-token prediction: further decoder layers in the target's checkpoint."""

from collections.abc import Mapping
from typing import Any

from estimator.model_shapes.head_kind import Head, HeadKind, class_names
from estimator.model_shapes.shape import stored_weights
from estimator.model_shapes.weights_and_caches import first_size
from simulator.cost.roofline.shapes import DraftShape

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
    places = [each for each in (config, *map(config.get, _NESTED)) if isinstance(each, Mapping)]
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
