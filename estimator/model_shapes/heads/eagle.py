"""EAGLE and EAGLE-2: one decoder layer over the target's last state and the next embedding."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from estimator.model_shapes.head_kind import Head, HeadKind
from simulator.cost.roofline.shapes import DraftShape

_SAME = ("hidden_size", "vocab_size")


def _recognises(config: Mapping[str, Any], target: Mapping[str, Any]) -> bool:
    """Returns whether it is a head: one layer, as wide as its target, which has more layers."""
    # Published heads name the class of an ordinary model.
    text = target.get("text_config") if isinstance(target.get("text_config"), Mapping) else target
    assert isinstance(text, Mapping)
    layers = text.get("num_hidden_layers")
    return (
        config.get("num_hidden_layers") == 1
        and isinstance(layers, int)
        and layers > 1
        and all(config.get(name) == text.get(name) is not None for name in _SAME)
    )


def eagle(head: Head) -> DraftShape:
    """Returns an EAGLE head (Li et al. 2024); EAGLE-2 uses the same head with dynamic trees.

    Each step first projects the concatenated embedding and hidden state. There is no norm before
    the first layer's attention and none after the last layer. The output matrix is the target's.
    """
    nested = head.config.get("model")
    served = isinstance(nested, Mapping)
    if isinstance(nested, Mapping):
        # vLLM's layout: the layer's sizes are in a nested object.
        head = replace(head, config={**head.config, **nested})
    width = head.require_width("hidden_size", head.integer("hidden_size"))
    vocabulary = head.integer("vocab_size")
    body = head.body(vocabulary)
    norms = (2 * body.layers - 1) * width
    biased = head.get("eagle_fc_bias", default=False) if served else head.get("bias", default=True)
    drafted = head.get("truncated_vocab_size") or vocabulary
    own = (head.weights("head", drafted * width),)
    output = head.borrowed_head if drafted == vocabulary else own
    return head.draft(
        replace(body, weights=body.without("other", "head")),
        (
            head.weights("feed-forward", 2 * width * width),
            head.weights("other", norms + (width if biased else 0)),
            *output,
        ),
    )


KIND = HeadKind(
    "EAGLE",
    match_priority=9,
    shape=eagle,
    prior="EAGLE",
    named="eagle",
    types=("eagle",),
    recognises=_recognises,
    methods={"vllm": "eagle", "sglang": "EAGLE"},
)
