"""DFlash: a few layers that replace a block of masks by tokens in one pass."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from estimator.model_shapes.head_kind import Head, HeadKind, borrowed_head, class_names
from simulator.cost.roofline.shapes import DraftShape, Weights

NESTED = "dflash_config"
_LAYER_IDS = ((NESTED, "target_layer_ids"), (None, "aux_hidden_state_layer_ids"))


def _recognises(config: Mapping[str, Any], _: Mapping[str, Any]) -> bool:
    return "dflash" in class_names(config) or NESTED in config


def projects_by(config: Mapping[str, Any], name: str) -> bool:
    """Returns whether a configuration names a kind of DFlash with its own projections."""
    nested = config.get(NESTED)
    projector = nested.get("projector_type") if isinstance(nested, Mapping) else None
    return name in class_names(config) or projector == name


def dflash(head: Head) -> DraftShape:
    """Returns a DFlash head (Chen et al. 2026).

    A projection of some of the target's states gives it further keys and values. Embedding and
    output matrix are the target's, unless it has its own vocabulary. The first position of a block
    holds the known token and drafts none.
    """
    return block_of(head, in_turn=(), anchored=False)


def block_of(head: Head, *, in_turn: Sequence[Weights], anchored: bool) -> DraftShape:
    """Returns the draft of a block, with the weights that each of its tokens uses in turn.

    in_turn: weights that multiply every token after the pass, one token after another.
    anchored: whether the known token's position drafts, too; a configuration may override it.
    """
    width = head.integer("hidden_size")
    tapped = head.target_width()
    block = head.integer("block_size", within=NESTED)
    vocabulary = head.get("draft_vocab_size") or head.target.vocabulary
    own = vocabulary != head.target.vocabulary
    body = head.body(vocabulary)
    taps = head.taps(*_LAYER_IDS, (None, "target_layer_ids"), default=body.layers)
    if not own:
        body = replace(body, weights=body.without("head"))
    anchored = head.get("sample_from_anchor", default=anchored, within=NESTED)
    return head.draft(
        body,
        (head.weights("other", width), *(() if own else borrowed_head(head.target))),
        once=(head.weights("feed-forward", taps * tapped * width),),
        in_turn=in_turn,
        parallel=True,
        longest=max(1, block if anchored else block - 1),
    )


KIND = HeadKind(
    "DFlash",
    match_priority=3,
    recognises=_recognises,
    shape=dflash,
    prior="block",
    methods={
        "vllm": "dflash",
        "sglang": "DFLASH",
        "tensorrt-llm": "DFlash",
        "llama.cpp": "draft-dflash",
    },
    speculators="dflash",
    drafts_blocks=True,
)
