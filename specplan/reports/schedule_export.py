"""A schedule in the words of the servers that change γ with the load."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.choice.schedule import Range

# vLLM's names for drafts, by what a configuration was taken for.
_METHODS = {"EAGLE-3": "eagle3", "P-EAGLE": "eagle3", "MTP": "mtp", "Medusa": "medusa",
            "DFlash": "dflash"}  # fmt: skip


def export_schedule(
    server: str, ranges: Sequence[Range], *, draft: str, kind: str = "model"
) -> str:
    """Returns what makes a server draft by a schedule, ready to paste.

    Args:
      server: a key of SCHEDULE_EXPORTS.
      ranges: γ by batch size.
      draft: name or folder of the draft.
      kind: what the draft is (simulator.cost.draft_shape.DraftKind).

    Raises:
      ValueError: if the server takes no schedule; the message lists those that do.
    """
    if server not in SCHEDULE_EXPORTS:
        known = ", ".join(SCHEDULE_EXPORTS)
        raise ValueError(f"--export of several batch sizes must be one of {known}, got {server}")
    if all(each.gamma == 0 for each in ranges):
        return "# gamma is 0 at every batch size: run the target without a draft"
    return SCHEDULE_EXPORTS[server](ranges, draft, kind)


def _vllm(ranges: Sequence[Range], draft: str, kind: str) -> str:
    config: dict[str, object] = {"method": _METHODS.get(kind, "draft_model")}
    if kind != "MTP":
        config["model"] = draft
    config["num_speculative_tokens"] = max(each.gamma for each in ranges)
    if kind == "P-EAGLE":
        config["parallel_drafting"] = True
    config["num_speculative_tokens_per_batch_size"] = [
        [each.first_batch, each.last_batch, each.gamma] for each in ranges
    ]
    return f"--speculative-config {shlex.quote(json.dumps(config))}"


def _tensorrt_llm(ranges: Sequence[Range], draft: str, kind: str) -> str:
    # Batch sizes beyond the last one draft nothing.
    kinds = {"EAGLE-3": "Eagle3", "MTP": "MTP"}
    paying = {each.last_batch: each.gamma for each in ranges if each.gamma > 0}
    lines = [
        "# in the file of --config:",
        "speculative_config:",
        f"  decoding_type: {kinds.get(kind, 'DraftTarget')}",
        *([] if kind == "MTP" else [f"  speculative_model: {draft}"]),
        f"  max_draft_len: {max(paying.values())}",
        "  draft_len_schedule: {" + ", ".join(f"{b}: {g}" for b, g in paying.items()) + "}",
    ]
    return "\n".join(lines)


def _sglang(ranges: Sequence[Range], draft: str, kind: str) -> str:
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


SCHEDULE_EXPORTS: Mapping[str, Callable[[Sequence[Range], str, str], str]] = MappingProxyType(
    {"vllm": _vllm, "tensorrt-llm": _tensorrt_llm, "sglang": _sglang}
)
