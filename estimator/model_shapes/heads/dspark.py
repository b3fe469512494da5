"""DSpark: DFlash with a Markov head between tokens, and a head for acceptance."""

from estimator.model_shapes.head_kind import Head, HeadKind
from estimator.model_shapes.heads.dflash import NESTED, dflash, projects_by
from simulator.cost.roofline.shapes import DraftShape

# Default of the speculators format.
_RANK = 256


def dspark(head: Head) -> DraftShape:
    """Returns a DSpark head, which drafts a block in one pass, then adds a bias to the logits.

    The bias depends on the token before and has low rank, W1 W2: for every token a row of W1 is
    looked up and multiplied by W2. The block's first position drafts, too.
    """
    stated = "speculators_model_type" in head.config
    rank = head.get("markov_rank", default=_RANK if stated else 0, within=NESTED)
    if not isinstance(rank, int) or isinstance(rank, bool) or rank < 0:
        raise ValueError(f"markov_rank in config.json of DSpark must be at least 0, got {rank!r}")
    width, kind = head.integer("hidden_size"), "vanilla"
    vocabulary = head.get("draft_vocab_size") or head.target.vocabulary
    gates = {
        "vanilla": 0,
        "gated": (width + rank) * rank + rank,
        "rnn": (2 * rank + width) * 3 * rank + 3 * rank,
    }
    if rank > 0:
        kind = head.get("markov_head_type", default="vanilla", within=NESTED)
    if kind not in gates:
        raise ValueError(
            f"markov_head_type in config.json must be one of {tuple(gates)}, got {kind}"
        )
    weighed = head.get("confidence_head_alpha", default=0.0, within=NESTED)
    confident = head.get("enable_confidence_head", default=stated or weighed > 0, within=NESTED)
    joined = head.get("confidence_head_with_markov", default=stated, within=NESTED)
    confidence = width + (rank if joined else 0) + 1 if confident else 0
    return dflash(
        head,
        in_turn=(
            head.weights("embedding", head.target.vocabulary * rank),
            head.weights("head", vocabulary * rank),
            head.weights("feed-forward", gates[kind] + confidence),
        ),
        anchored=True,
    )


KIND = HeadKind(
    "DSpark",
    match_priority=1,
    shape=dspark,
    named="dspark",
    keys=("markov_rank",),
    recognises=projects_by("dspark"),
    methods={"vllm": "dspark", "sglang": "DSPARK", "llama.cpp": "draft-dspark"},
    speculators="dspark",
    drafts_blocks=True,
)
