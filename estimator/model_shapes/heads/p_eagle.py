"""P-EAGLE: EAGLE-3 drafting all positions of a block in one pass."""

from estimator.model_shapes.head_kind import Head, HeadKind
from estimator.model_shapes.heads.eagle3 import eagle3
from simulator.cost.roofline.shapes import DraftShape


def p_eagle(head: Head) -> DraftShape:
    """Returns a P-EAGLE head: EAGLE-3 with a vector that replaces states not yet computed."""
    return eagle3(head, (1,))


KIND = HeadKind(
    "P-EAGLE",
    match_priority=4,
    shape=p_eagle,
    named="peagle",
    keys=("ptd_token_id",),
    recognises=lambda config, _: config.get("parallel_drafting") is True,
    methods={"vllm": "eagle3", "sglang": "EAGLE3"},
    speculators="peagle",
    parallel_drafting=True,
)
