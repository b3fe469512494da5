"""Domino: DFlash with a recurrent layer through which tokens depend on earlier tokens."""

from estimator.model_shapes.head_kind import Head, HeadKind
from estimator.model_shapes.heads.dflash import NESTED, dflash, projects_by
from simulator.cost.roofline.shapes import DraftShape


def domino(head: Head) -> DraftShape:
    """Returns a Domino head, which drafts a block in one pass, then corrects each token's logits.

    A gated recurrent unit without biases reads the embeddings of earlier tokens. Two matrices map
    its state and the position's hidden state to logits. If the configuration sets `shift_label`,
    the block's first position drafts, too.
    """
    width = head.integer("hidden_size")
    state = head.integer("gru_hidden_dim", within=NESTED)
    narrow = head.integer("emb_dim", within=NESTED)
    vocabulary = head.get("draft_vocab_size") or head.target.vocabulary
    return dflash(
        head,
        in_turn=(
            head.weights("feed-forward", 3 * state * (width + state) + (width + state) * narrow),
            head.weights("head", narrow * vocabulary),
        ),
        anchored=bool(head.get("shift_label", default=False, within=NESTED)),
    )


KIND = HeadKind(
    "Domino",
    match_priority=2,
    shape=domino,
    named="domino",
    recognises=projects_by("domino"),
    drafts_blocks=True,
)
