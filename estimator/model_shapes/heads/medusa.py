"""Medusa: one head per position, made of residual blocks over the target's last state."""

from dataclasses import replace

from estimator.model_shapes.head_kind import Head, HeadKind
from simulator.cost.roofline.shapes import DraftShape

_NAMES = ("medusa_num_heads", "num_heads")


def medusa(head: Head) -> DraftShape:
    """Returns the heads of Medusa (Cai et al. 2024): each drafts one position by residual blocks.

    A draft step reads one head, so γ tokens need γ heads. Width and vocabulary equal the target's
    unless the configuration states them.
    """
    head = replace(head, config={"dtype": "bfloat16", **head.config})
    width = head.require_width("hidden_size", head.get("hidden_size", default=head.target.hidden))
    heads = next((head.get(name) for name in _NAMES if isinstance(head.get(name), int)), None)
    if heads is None or heads < 1:
        raise ValueError(f"config.json of Medusa must have {_NAMES[0]} of at least 1, got {heads}")
    layers = int(head.get("medusa_num_layers", default=head.get("num_hidden_layers", default=1)))
    vocabulary = int(head.get("truncated_vocab_size") or head.target.vocabulary)
    step = head.step(
        "MedusaModel",
        width=width,
        vocabulary=vocabulary,
        weights=(
            head.weights("feed-forward", layers * (width + 1) * width),
            head.weights("head", width * vocabulary),
        ),
    )
    held, gamma = heads * step.weight_bytes, head.stated_gamma
    return DraftShape("Medusa", step, False, heads, held, stated_gamma=gamma)


KIND = HeadKind(
    "Medusa",
    shape=medusa,
    named="medusa",
    types=("medusa",),
    keys=_NAMES[:1],
    methods={"vllm": "medusa"},
)
