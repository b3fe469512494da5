"""PARD: a draft model that drafts all tokens of a block in one pass, from mask tokens."""

from estimator.model_shapes.head_kind import Head, HeadKind
from simulator.cost.roofline.shapes import DraftShape


def pard(head: Head) -> DraftShape:
    """Returns the shape of PARD (An et al. 2025), a model that drafts a whole block in one pass."""
    shape = head.shape_of(head.config)
    return DraftShape("PARD", shape, True, None, shape.weight_bytes)


PARD = HeadKind(
    "PARD",
    match_priority=9,
    shape=pard,
    keys=("pard_token",),
    methods={"vllm": "draft_model", "tensorrt-llm": "PARD"},
    parallel_drafting=True,
)
