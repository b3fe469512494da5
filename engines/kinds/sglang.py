"""SGLang: read and told γ, never started; what it prints is known from its source alone."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engines.kind import EngineKind, Exports, Printed, later

if TYPE_CHECKING:
    from simulator.choice.schedule import Range


def _fixed(gamma: int, draft: str, *_: object) -> str:
    # A draft whose top-k is 1 is a chain.
    return (
        f"--speculative-algorithm STANDALONE --speculative-draft-model-path {shlex.quote(draft)} "
        + _tree(gamma, 1, gamma)
    )


def _schedule(ranges: Sequence[Range], draft: str, kind: str) -> str:
    # A batch takes the steps of the largest batch size named that is not above it. Given one number
    # of steps for each it does not adapt to what was accepted; it drafts of its EAGLE kinds alone.
    slots = {str(each.first_batch): {"candidate_steps": [each.gamma]} for each in ranges}
    steps = max(each.gamma for each in ranges)
    algorithm = "EAGLE3" if kind in ("EAGLE-3", "P-EAGLE") else "EAGLE"
    return "\n".join(
        (
            "# adaptive.json:",
            json.dumps(slots),
            f"--speculative-algorithm {algorithm} --speculative-draft-model-path "
            f"{shlex.quote(draft)} --speculative-eagle-topk 1 --speculative-num-steps {steps} "
            f"--speculative-num-draft-tokens {steps + 1} --speculative-adaptive "
            "--speculative-adaptive-config adaptive.json",
        )
    )


def _tree(depth: int, widest: int, nodes: int) -> str:
    """Returns bounds of a tree; the token before it counts among those that are verified."""
    return (
        f"--speculative-num-steps {depth} --speculative-eagle-topk {widest} "
        f"--speculative-num-draft-tokens {nodes + 1}"
    )


KIND = EngineKind(
    name="sglang",
    title="SGLang",
    prints=(
        Printed("metrics", ("sglang",), later("engines.observing.sglang:read_page")),
        Printed(
            "JSON",
            ("accept_length",),
            later("engines.observing.sglang:read_bench"),
            "SGLang's bench_serving",
        ),
    ),
    exports=Exports(_fixed, draft_sampling="argmax", schedule=_schedule, tree=_tree),
)
