"""Medusa and MLP speculators: one head, or one stage, for each drafted position."""

from dataclasses import replace

from estimator.model_shapes.head_kind import Head, HeadKind
from simulator.cost.roofline.shapes import DraftShape

_NAMES = ("medusa_num_heads", "num_heads")


def medusa(head: Head) -> DraftShape:
    """Returns the shape of Medusa (Cai et al. 2024), whose heads draft one position each.

    A head consists of residual blocks and an output matrix. A draft step is one head, so γ tokens
    need γ heads. If the configuration does not state width and vocabulary, they are the target's.
    """
    head = replace(head, config={"dtype": "bfloat16", **head.config})
    get = head.config.get
    width = head.require_width("hidden_size", get("hidden_size", head.target.hidden))
    heads = next((value for value in map(get, _NAMES) if isinstance(value, int)), None)
    if heads is None or heads < 1:
        raise ValueError(f"config.json of Medusa must have {_NAMES[0]} of at least 1, got {heads}")
    layers = int(get("medusa_num_layers", get("num_hidden_layers", 1)))
    vocabulary = int(get("truncated_vocab_size") or head.target.vocabulary)
    step = head.step(
        "MedusaModel",
        head.weights("feed-forward", layers * (width + 1) * width),
        head.weights("head", width * vocabulary),
    )
    step = replace(step, vocabulary=vocabulary)
    return DraftShape("Medusa", step, False, heads, heads * step.weight_bytes)


MEDUSA = HeadKind(
    "Medusa",
    shape=medusa,
    named="medusa",
    types=("medusa",),
    keys=_NAMES[:1],
    methods={"vllm": "medusa"},
)


def mlp_speculator(head: Head) -> DraftShape:
    """Returns the shape of an MLP speculator (Wertheimer et al. 2024): n stages, one token each.

    A stage adds the last token's embedding to a projection of the preceding stage's state,
    normalises the sum, and multiplies it by an output matrix. With `tie_weights` all stages share
    their weights, except that the first stage projects the target's state by its own matrix.
    """
    head = replace(head, config={"dtype": "float16", **head.config})
    name = "emb_dim" if "emb_dim" in head.config else "hidden_size"
    width = head.require_width(name, head.integer(name))
    stages = head.integer("n_predict")
    inner = int(head.config.get("inner_dim") or width)
    vocabulary = head.integer("vocab_size")
    tied = bool(head.config.get("tie_weights"))
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
        "MLP speculator head",
        head.weights("feed-forward", inner * inner),
        head.weights("other", 2 * inner),
        head.weights("head", vocabulary * inner),
    )
    step = replace(step, hidden=inner, vocabulary=vocabulary)
    held_bytes = sum(weights.stored_bytes for weights in everything)
    wider = (head.weights("feed-forward", (width - inner) * inner),) if width > inner else ()
    return DraftShape("MLP speculator", step, False, stages, held_bytes, once=wider)


MLP_SPECULATOR = HeadKind(
    "MLP speculator",
    shape=mlp_speculator,
    named="mlpspeculator",
    types=("mlp_speculator",),
    methods={"vllm": "mlp_speculator"},
)
