"""EAGLE-3: a decoder layer over three of the target's states, with a vocabulary of its own."""

from estimator.model_shapes.head_kind import Head, HeadKind
from simulator.cost.roofline.shapes import DraftShape

_LAYER_IDS = "eagle_aux_hidden_state_layer_ids"
# A head that names a model class has one of these keys.
_MARKS = {"draft_vocab_size", "truncated_vocab_size", "eagle_config", _LAYER_IDS}
_TAPPED = 3


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
        (head.weights("attention", wider), head.weights("other", width)),
        once=(
            head.weights("feed-forward", joined * width),
            *([head.weights("other", joined)] if normed else []),
            *(head.weights("other", joined * count) for count in masks),
            *([head.weights("embedding", vocabulary * width)] if trained else []),
        ),
        parallel=bool(masks),
    )


KIND = HeadKind(
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
