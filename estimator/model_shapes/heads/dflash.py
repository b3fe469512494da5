"""DFlash: a few layers that replace a block of masks by tokens in one pass."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from estimator.model_shapes.head_kind import Head, HeadKind
from simulator.cost.roofline.shapes import DraftShape, Weights

NESTED = "dflash_config"
_LAYER_IDS = ((NESTED, "target_layer_ids"), (None, "aux_hidden_state_layer_ids"))


def projects_by(name: str) -> Callable[[Mapping[str, Any], Mapping[str, Any]], bool]:
    """Returns a function that tests whether a configuration's `projector_type` has this name."""

    def recognises(config: Mapping[str, Any], _: Mapping[str, Any]) -> bool:
        nested = config.get(NESTED)
        return isinstance(nested, Mapping) and nested.get("projector_type") == name

    return recognises


def dflash(head: Head, *, in_turn: Sequence[Weights] = (), anchored: bool = False) -> DraftShape:
    """Returns a DFlash head (Chen et al. 2026).

    The head also attends to keys and values projected from some of the target's states. It uses the
    target's embedding and output matrix, unless it has a vocabulary of its own. The first position
    of a block holds the last known token.

    in_turn: weights that multiply every token after the pass, one token after another.
    anchored: whether the known token's position drafts, too. A configuration may override this.
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
        (head.weights("other", width), *(() if own else head.borrowed_head)),
        once=(head.weights("feed-forward", taps * tapped * width),),
        in_turn=in_turn,
        parallel=True,
        longest=max(1, block if anchored else block - 1),
    )


KIND = HeadKind(
    "DFlash",
    shape=dflash,
    named="dflash",
    keys=(NESTED,),
    methods={
        "vllm": "dflash",
        "sglang": "DFLASH",
        "tensorrt-llm": "DFlash",
        "llama.cpp": "draft-dflash",
    },
    speculators="dflash",
    drafts_blocks=True,
)
