"""MLP speculators: one stage per position, which reads the state and the previous token."""

from dataclasses import replace

from estimator.model_shapes.head_kind import Head, HeadKind
from simulator.cost.roofline.shapes import DraftShape


def mlp_speculator(head: Head) -> DraftShape:
    """Returns an MLP speculator (Wertheimer et al. 2024), whose n stages draft one token each.

    A stage adds the last token's embedding to a projection of the state before, normalises the sum
    and multiplies it by an output matrix. With `tie_weights` all stages share their weights, except
    that the first stage, which reads the target's state, has its own projection.
    """
    head = replace(head, config={"dtype": "float16", **head.config})
    name = "emb_dim" if "emb_dim" in head.config else "hidden_size"
    width = head.require_width(name, head.integer(name))
    stages = head.integer("n_predict")
    inner = int(head.get("inner_dim") or width)
    vocabulary = head.integer("vocab_size")
    tied = bool(head.get("tie_weights", default=False))
    held = 1 if tied else stages
    # Tied stages have two projections: the first stage's and the others'.
    later = 0 if stages == 1 else held if tied else stages - 1
    everything = (
        head.weights("embedding", held * vocabulary * inner),
        head.weights("feed-forward", width * inner + later * inner * inner),
        head.weights("other", held * 2 * inner),
        head.weights("head", held * vocabulary * inner),
    )
    step = head.step(
        "MLPSpeculator",
        width=inner,
        vocabulary=vocabulary,
        weights=(
            head.weights("feed-forward", inner * inner),
            head.weights("other", 2 * inner),
            head.weights("head", vocabulary * inner),
        ),
    )
    wider = max(0, width - inner) * inner
    return replace(
        head.draft(step, (), once=(head.weights("feed-forward", wider),), longest=stages),
        held_bytes=sum(each.stored_bytes for each in everything),
    )


KIND = HeadKind(
    "MLP speculator",
    shape=mlp_speculator,
    named="mlpspeculator",
    types=("mlp_speculator",),
    methods={"vllm": "mlp_speculator"},
)
