"""SGLang: a server whose flags and output are known only from its source."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engines.kind import Drafted, EngineKind, Exports, PrintedCounts, later, methods_of
from simulator.cost.setting import Wall

if TYPE_CHECKING:
    from simulator.choice.schedule import Range

_KEYS = """\
# Batch sizes as keys need an SGLang of May 2026 or later (pull request 24055). With attention data
# parallelism, or several MTP layers, SGLang keeps the largest number for all.
# adaptive.json, looked up by the batch that SGLang pads to the size of a graph:"""
_ZERO = """\
# 0 needs pull request 23994 (merged after the keys by batch size): builds without it refuse the
# file. Write 1 for 0 there. With 0 SGLang still keeps the draft's cache up to date."""

_CONTROLLER = (
    "--speculative-adaptive (steps by acceptance; EAGLE and EAGLE-3 with --speculative-eagle-topk "
    "1), or with DSPARK SGLANG_RAGGED_VERIFY_MODE=compact (verification by confidence and load); "
    "for DFlash it is open (pull request 36136)"
)


def _loaded(draft: Drafted) -> str:
    named = draft.file
    path = "" if named is None else f" --speculative-draft-model-path {shlex.quote(named)}"
    return f"--speculative-algorithm {methods_of('sglang')[draft.kind]}{path}"


def _fixed(gamma: int, draft: Drafted, *_: object) -> str:
    # A block drafter takes no steps; a draft whose top-k is 1 is a chain.
    block = f"--speculative-num-draft-tokens {gamma + 1}"
    whole = draft.head is not None and draft.head.drafts_blocks
    return f"{_loaded(draft)} {block}" if whole else _tree(gamma, 1, gamma, draft)


def _schedule(ranges: Sequence[Range], draft: Drafted) -> str:
    # A batch takes the steps of the largest batch size named that is not above it. Given one number
    # of steps for each it does not adapt to acceptance; it schedules only its EAGLE kinds of draft.
    slots = {str(part.first_batch): {"candidate_steps": [part.gamma]} for part in ranges}
    steps = max(part.gamma for part in ranges)
    zero = any(part.gamma == 0 for part in ranges)
    return "\n".join(
        (
            *([_ZERO] if zero else []),
            _KEYS,
            json.dumps(slots),
            f"{_loaded(draft)} --speculative-eagle-topk 1 --speculative-num-steps {steps} "
            f"--speculative-num-draft-tokens {steps + 1} --speculative-adaptive "
            "--speculative-adaptive-config adaptive.json",
        )
    )


def _tree(depth: int, widest: int, nodes: int, draft: Drafted) -> str:
    """Returns flags that limit a draft tree; SGLang counts its root as a drafted token, too."""
    root = f"# {nodes + 1} draft tokens: the {nodes} of the tree and its root, the last token\n"
    return (
        f"{root * (widest > 1)}{_loaded(draft)} --speculative-num-steps {depth} "
        f"--speculative-eagle-topk {widest} --speculative-num-draft-tokens {nodes + 1}"
    )


KIND = EngineKind(
    name="sglang",
    title="SGLang",
    start=later("engines.servers.sglang:Sglang.of_models"),
    takes=frozenset({"engine_command", "synthetic"}),
    draft_samplings=("argmax",),
    drafts_past_end=True,
    acceptance="counts",
    in_turn=True,
    prints=(
        PrintedCounts("metrics", ("sglang:",), "sglang:read_page"),
        PrintedCounts("log", ("Decode batch",), "sglang:read_log"),
        PrintedCounts("JSON", ("accept_length",), "sglang:read_bench", "SGLang's bench_serving"),
    ),
    exports=Exports(
        "STANDALONE",
        _fixed,
        draft_sampling="argmax",
        schedule=_schedule,
        unscheduled=frozenset({"STANDALONE", "DFLASH", "DSPARK"}),
        tree=_tree,
        controller=_CONTROLLER,
    ),
    # On GPUs of 80 GB and more with fewer than 4 of them; 512 with more.
    wall=Wall(
        "requests",
        256,
        "--cuda-graph-max-bs",
        "python/sglang/srt/server_args.py, _handle_gpu_memory_settings (0.5, 2026)",
    ),
)
