"""DFlash, Domino and DSpark: a few layers that replace a block of masks by tokens in one pass."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from estimator.model_shapes.head_kind import Head, HeadKind
from simulator.cost.roofline.shapes import DraftShape, Weights

NESTED = "dflash_config"
# Default rank of DSpark's bias in the speculators format.
_RANK = 256


def dflash(head: Head, *, in_turn: Sequence[Weights] = (), anchored: bool = False) -> DraftShape:
    """Returns the shape of a DFlash head (Chen et al. 2026).

    The head also attends to keys and values projected from some of the target's states. It uses the
    target's embedding and output matrix, unless it has a vocabulary of its own. The first position
    of a block holds the last verified token; the other positions hold masks.

    in_turn: weights that are used after the pass, for each drafted token in turn.
    anchored: whether the first position drafts, too. A configuration may override this.
    """
    width = head.integer("hidden_size")
    tapped = head.target_width()
    block = head.integer("block_size")
    vocabulary = head.config.get("draft_vocab_size") or head.target.vocabulary
    own_head = vocabulary != head.target.vocabulary
    body = head.body(vocabulary)
    taps = head.taps("target_layer_ids", "aux_hidden_state_layer_ids", default=body.layers)
    if not own_head:
        body = replace(body, weights=body.without("head"))
    anchored = head.config.get("sample_from_anchor", anchored)
    return head.draft(
        body,
        head.weights("other", width),
        *(() if own_head else head.borrowed_head),
        once=(head.weights("feed-forward", taps * tapped * width),),
        in_turn=in_turn,
        parallel=True,
        longest=max(1, block if anchored else block - 1),
    )


DFLASH = HeadKind(
    "DFlash",
    shape=dflash,
    named="dflash",
    keys=(NESTED,),
    nested=NESTED,
    methods={
        "vllm": "dflash",
        "sglang": "DFLASH",
        "tensorrt-llm": "DFlash",
        "llama.cpp": "draft-dflash",
    },
    speculators="dflash",
    drafts_blocks=True,
)


def _projects(name: str, config: Mapping[str, Any], _: Mapping[str, Any]) -> bool:
    """Returns whether a configuration's `projector_type` has this name."""
    nested = config.get(NESTED)
    return isinstance(nested, Mapping) and nested.get("projector_type") == name


def domino(head: Head) -> DraftShape:
    """Returns the shape of a Domino head: DFlash, after which each token's logits are corrected.

    A gated recurrent unit without biases reads the embeddings of earlier tokens. Two matrices map
    its state and the position's hidden state to logits. If the configuration sets `shift_label`,
    the block's first position drafts, too.
    """
    width = head.integer("hidden_size")
    state = head.integer("gru_hidden_dim")
    narrow = head.integer("emb_dim")
    vocabulary = head.config.get("draft_vocab_size") or head.target.vocabulary
    return dflash(
        head,
        in_turn=(
            head.weights("feed-forward", 3 * state * (width + state) + (width + state) * narrow),
            head.weights("head", narrow * vocabulary),
        ),
        anchored=bool(head.config.get("shift_label")),
    )


DOMINO = HeadKind(
    "Domino",
    match_priority=2,
    shape=domino,
    named="domino",
    nested=NESTED,
    recognises=partial(_projects, "domino"),
    drafts_blocks=True,
)


def dspark(head: Head) -> DraftShape:
    """Returns the shape of a DSpark head: DFlash, after which a bias is added to the logits.

    The bias of a position depends on the preceding token and has low rank, W1 W2: the token's row
    of W1 is looked up and multiplied by W2. The block's first position drafts, too.
    """
    stated = "speculators_model_type" in head.config
    rank = head.config.get("markov_rank", _RANK if stated else 0)
    if not isinstance(rank, int) or isinstance(rank, bool) or rank < 0:
        raise ValueError(f"markov_rank in config.json of DSpark must be at least 0, got {rank!r}")
    width, get = head.integer("hidden_size"), head.config.get
    markov_type = get("markov_head_type", "vanilla") if rank > 0 else "vanilla"
    vocabulary = head.config.get("draft_vocab_size") or head.target.vocabulary
    gates = {
        "vanilla": 0,
        "gated": (width + rank) * rank + rank,
        "rnn": (2 * rank + width) * 3 * rank + 3 * rank,
    }
    if markov_type not in gates:
        raise ValueError(
            f"markov_head_type in config.json must be one of {tuple(gates)}, got {markov_type}"
        )
    confident = get("enable_confidence_head", stated or get("confidence_head_alpha", 0.0) > 0)
    joined = get("confidence_head_with_markov", stated)
    confidence = width + (rank if joined else 0) + 1 if confident else 0
    return dflash(
        head,
        in_turn=(
            head.weights("embedding", head.target.vocabulary * rank),
            head.weights("head", vocabulary * rank),
            head.weights("feed-forward", gates[markov_type] + confidence),
        ),
        anchored=True,
    )


DSPARK = HeadKind(
    "DSpark",
    match_priority=1,
    shape=dspark,
    named="dspark",
    keys=("markov_rank",),
    nested=NESTED,
    recognises=partial(_projects, "dspark"),
    methods={"vllm": "dspark", "sglang": "DSPARK", "llama.cpp": "draft-dspark"},
    speculators="dspark",
    drafts_blocks=True,
)
