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
# In vLLM's layout of EAGLE heads this object holds the sizes of the layer.
_SERVED = "model"


def _recognises(config: Mapping[str, Any], target: Mapping[str, Any]) -> bool:
    """Returns whether a model has one layer, and the sizes of a target with several layers."""
    # Published heads name the class of an ordinary model.
    nested = target.get("text_config")
    text = nested if isinstance(nested, Mapping) else target
    layers = text.get("num_hidden_layers")
    return (
        config.get("num_hidden_layers") == 1
        and isinstance(layers, int)
        and layers > 1
        and all(config.get(name) == text.get(name) is not None for name in _SAME)
    )


def eagle(head: Head) -> DraftShape:
    """Returns the shape of a head of EAGLE (Li et al. 2024) or EAGLE-2, which share the head.

    Each step first projects the concatenated embedding and hidden state. There is no norm before
    the first layer's attention and none after the last layer. The output matrix is the target's.
    """
    get = head.config.get
    width = head.require_width("hidden_size", head.integer("hidden_size"))
    vocabulary = head.integer("vocab_size")
    body = head.body(vocabulary)
    norms = (2 * body.layers - 1) * width
    served = isinstance(get(_SERVED), Mapping)
    biased = get("eagle_fc_bias", False) if served else get("bias", True)
    drafted = get("truncated_vocab_size") or vocabulary
    own_head = drafted != vocabulary
    return head.draft(
        replace(body, weights=body.without("other", "head")),
        head.weights("feed-forward", 2 * width * width),
        head.weights("other", norms + (width if biased else 0)),
        *([head.weights("head", drafted * width)] if own_head else head.borrowed_head),
    )


EAGLE = HeadKind(
    "EAGLE",
    match_priority=9,
    shape=eagle,
    prior="EAGLE",
    named="eagle",
    types=("eagle",),
    nested=_SERVED,
    recognises=_recognises,
    methods={"vllm": "eagle", "sglang": "EAGLE"},
)


def eagle3(head: Head, *, masked: bool = False) -> DraftShape:
    """Returns the shape of an EAGLE-3 head (Li et al. 2025).

    Once per block the states of three target layers are projected to one state. The first layer's
    attention reads the normed embedding next to the normed state. The output matrix has the draft's
    own vocabulary. The embedding is the target's unless the head has trained its own.

    masked: whether a trained vector replaces states that are not yet computed, so that the head
      drafts all positions of a block at once (P-EAGLE).
    """
    width = head.integer("hidden_size")
    tapped, get = head.target_width(), head.config.get
    vocabulary = head.integer("vocab_size")
    drafted = get("draft_vocab_size") or get("truncated_vocab_size") or vocabulary
    body = head.body(drafted)
    head_width = get("head_dim") or width // body.heads
    cached = int(get("num_key_value_heads") or body.heads)
    wider = (body.heads + 2 * cached) * head_width * width
    joined = tapped * head.taps(_LAYER_IDS, default=_TAPPED)
    normed = get("norm_before_fc") or get("fc_norm")
    trained = get("embed_requires_grad")
    return head.draft(
        body,
        head.weights("attention", wider),
        head.weights("other", width),
        once=(
            head.weights("feed-forward", joined * width),
            *([head.weights("other", joined)] if normed else []),
            *([head.weights("other", joined)] if masked else []),
            *([head.weights("embedding", vocabulary * width)] if trained else []),
        ),
        parallel=masked,
    )


EAGLE3 = HeadKind(
    "EAGLE-3",
    match_priority=5,
    shape=eagle3,
    prior="EAGLE",
    named="eagle3",
    types=("eagle3",),
    nested="eagle_config",
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
    shape=partial(eagle3, masked=True),
    named="peagle",
    keys=("ptd_token_id",),
    nested="eagle_config",
    recognises=lambda config, _: config.get("parallel_drafting") is True,
    methods={"vllm": "eagle3", "sglang": "EAGLE3"},
    speculators="peagle",
    parallel_drafting=True,
)
