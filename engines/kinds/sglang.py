"""SGLang: read and given γ, never started; its output format is known only from its source."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engines.kind import Drafted, EngineKind, Exports, PrintedCounts, later
from simulator.cost.wall import Wall

if TYPE_CHECKING:
    from simulator.choice.schedule import Range


METHODS = {
    "model": "STANDALONE", "EAGLE": "EAGLE", "EAGLE-3": "EAGLE3", "P-EAGLE": "EAGLE3",
    "MTP": "EAGLE", "DFlash": "DFLASH", "DSpark": "DSPARK",
}  # fmt: skip
_BLOCKS = ("DFlash", "DSpark")


def _loaded(draft: Drafted) -> str:
    # The layer of multi-token prediction is in the target's own checkpoint.
    path = f" --speculative-draft-model-path {shlex.quote(draft.name)}"
    return f"--speculative-algorithm {METHODS[draft.kind]}" + ("" if draft.kind == "MTP" else path)


def _fixed(gamma: int, draft: Drafted, *_: object) -> str:
    # A block drafter takes no steps; a draft whose top-k is 1 is a chain.
    block = f"--speculative-num-draft-tokens {gamma + 1}"
    return f"{_loaded(draft)} {block if draft.kind in _BLOCKS else _tree(gamma, 1, gamma)}"


def _schedule(ranges: Sequence[Range], draft: Drafted) -> str:
    # A batch takes the steps of the largest batch size named that is not above it. Given one number
    # of steps for each it does not adapt to acceptance; it schedules only its EAGLE kinds of draft.
    slots = {str(each.first_batch): {"candidate_steps": [each.gamma]} for each in ranges}
    steps = max(each.gamma for each in ranges)
    return "\n".join(
        (
            "# adaptive.json, looked up by the batch that SGLang pads to the size of a graph:",
            json.dumps(slots),
            f"{_loaded(draft)} --speculative-eagle-topk 1 --speculative-num-steps {steps} "
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
        PrintedCounts("metrics", ("sglang",), later("engines.observing.sglang:read_page")),
        PrintedCounts(
            "JSON",
            ("accept_length",),
            later("engines.observing.sglang:read_bench"),
            "SGLang's bench_serving",
        ),
    ),
    exports=Exports(
        METHODS,
        _fixed,
        draft_sampling="argmax",
        schedule=_schedule,
        scheduled=frozenset({"EAGLE", "EAGLE-3", "P-EAGLE", "MTP"}),
        tree=_tree,
    ),
    # On GPUs of 80 GB and more with fewer than 4 of them; 512 with more.
    wall=Wall(
        "requests",
        256,
        "--cuda-graph-max-bs",
        "python/sglang/srt/server_args.py, _handle_gpu_memory_settings (0.5, 2026)",
    ),
)
