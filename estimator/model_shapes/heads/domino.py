"""Domino: DFlash with a recurrent layer through which tokens depend on earlier tokens."""

from estimator.model_shapes.head_kind import Head, HeadKind
from estimator.model_shapes.heads.dflash import NESTED, dflash, projects_by
from simulator.cost.roofline.shapes import DraftShape


def domino(head: Head) -> DraftShape:
    """Returns a Domino head: a block in one pass, then a correction of each token's logits.

    A gated recurrent unit without biases reads the embeddings of the tokens so far. Its state and
    the position's state pass through two matrices to the vocabulary. With `shift_label` the first
    position drafts, too.
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
