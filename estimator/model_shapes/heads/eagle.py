"""EAGLE, EAGLE-3 and P-EAGLE: a decoder layer over states of the target."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from estimator.model_shapes.head_kind import Head, HeadKind
from simulator.cost.roofline.shapes import DraftShape

_SAME = ("hidden_size", "vocab_size")
_LAYER_IDS = "eagle_aux_hidden_state_layer_ids"
# An EAGLE-3 head that names a model class has one of these keys.
_MARKS = {"draft_vocab_size", "truncated_vocab_size", "eagle_config", _LAYER_IDS}
_TAPPED = 3


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
        head.weights("feed-forward", 2 * width * width),
        head.weights("other", norms + (width if biased else 0)),
        *output,
    )


EAGLE = HeadKind(
    "EAGLE",
    match_priority=9,
    shape=eagle,
    prior="EAGLE",
    named="eagle",
    types=("eagle",),
    recognises=_recognises,
    methods={"vllm": "eagle", "sglang": "EAGLE"},
)


def eagle3(head: Head, masks: tuple[int, ...] = ()) -> DraftShape:
    """Returns an EAGLE-3 head (Li et al. 2025).

    The first layer's attention reads the embedding and the state, each normed, concatenated. Once
    per block the states of three target layers are projected to one state. The output matrix has
    the draft's own vocabulary. The embedding is the target's unless the head has trained its own.

    masks: sizes of vectors with which the head drafts all positions at once, in multiples of the
      width of the three states together; empty: it drafts token by token.
    """
    width = head.integer("hidden_size")
    tapped = head.target_width()
    vocabulary = head.integer("vocab_size")
    drafted = head.get("draft_vocab_size") or head.get("truncated_vocab_size") or vocabulary
    body = head.body(drafted)
    head_width = head.get("head_dim") or width // body.heads
    cached = int(head.get("num_key_value_heads") or body.heads)
    wider = (body.heads + 2 * cached) * head_width * width
    joined = tapped * head.taps(("eagle_config", _LAYER_IDS), (None, _LAYER_IDS), default=_TAPPED)
    normed = head.get("norm_before_fc", default=False) or head.get("fc_norm", default=False)
    trained = head.get("embed_requires_grad", default=False)
    return head.draft(
        body,
        head.weights("attention", wider),
        head.weights("other", width),
        once=(
            head.weights("feed-forward", joined * width),
            *([head.weights("other", joined)] if normed else []),
            *(head.weights("other", joined * count) for count in masks),
            *([head.weights("embedding", vocabulary * width)] if trained else []),
        ),
        parallel=bool(masks),
    )


EAGLE3 = HeadKind(
    "EAGLE-3",
    match_priority=5,
    shape=eagle3,
    prior="EAGLE",
    named="eagle3",
    types=("eagle3",),
    recognises=lambda config, _: config.get("model_type") != "eagle" and bool(_MARKS & set(config)),
    methods={
        "vllm": "eagle3",
        "sglang": "EAGLE3",
        "tensorrt-llm": "Eagle3",
        "llama.cpp": "draft-eagle3",
    },
    speculators="eagle3",
)
P_EAGLE = HeadKind(
    "P-EAGLE",
    match_priority=4,
    shape=partial(eagle3, masks=(1,)),
    named="peagle",
    keys=("ptd_token_id",),
    recognises=lambda config, _: config.get("parallel_drafting") is True,
    methods={"vllm": "eagle3", "sglang": "EAGLE3"},
    speculators="peagle",
    parallel_drafting=True,
)
