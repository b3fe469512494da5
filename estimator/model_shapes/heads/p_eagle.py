"""P-EAGLE: EAGLE-3 drafting all positions of a block in one pass."""

from collections.abc import Mapping
from typing import Any

from estimator.model_shapes.head_kind import Head, HeadKind, class_names
from estimator.model_shapes.heads.eagle3 import eagle3_with
from simulator.cost.roofline.shapes import DraftShape


def _recognises(config: Mapping[str, Any], _: Mapping[str, Any]) -> bool:
    parallel = config.get("parallel_drafting") is True or "ptd_token_id" in config
    return parallel or "peagle" in class_names(config)


def p_eagle(head: Head) -> DraftShape:
    """Returns a P-EAGLE head: EAGLE-3, and one vector in place of states that are not known yet."""
    return eagle3_with(head, (1,))


KIND = HeadKind(
    "P-EAGLE",
    match_priority=4,
    recognises=_recognises,
    shape=p_eagle,
    prior="block",
    methods={"vllm": "eagle3", "sglang": "EAGLE3"},
    speculators="peagle",
    parallel_drafting=True,
)
