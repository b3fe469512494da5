"""vLLM: the user's own installation, whose flags are one JSON object."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engines.kind import EngineKind, Exports, Printed, later

if TYPE_CHECKING:
    from estimator.traces.traces import DraftSampling, Verification
    from simulator.choice.schedule import Range

# Its names for drafts, by what a configuration was taken for.
METHODS = {
    "EAGLE-3": "eagle3", "P-EAGLE": "eagle3", "MTP": "mtp", "Medusa": "medusa", "DFlash": "dflash",
}  # fmt: skip


def _flag(config: Mapping[str, object]) -> str:
    return f"--speculative-config {shlex.quote(json.dumps(config))}"


def _fixed(
    gamma: int, draft: str, sampling: DraftSampling | None, verification: Verification | None
) -> str:
    config: dict[str, object] = {
        "method": "draft_model",
        "model": draft,
        "num_speculative_tokens": gamma,
    }
    if sampling is not None:
        config["draft_sample_method"] = "greedy" if sampling == "argmax" else "probabilistic"
    if verification == "block":
        config["rejection_sample_method"] = "block"
    return _flag(config)


def _schedule(ranges: Sequence[Range], draft: str, kind: str) -> str:
    config: dict[str, object] = {"method": METHODS.get(kind, "draft_model")}
    if kind != "MTP":
        config["model"] = draft
    config["num_speculative_tokens"] = max(each.gamma for each in ranges)
    if kind == "P-EAGLE":
        config["parallel_drafting"] = True
    config["num_speculative_tokens_per_batch_size"] = [
        [each.first_batch, each.last_batch, each.gamma] for each in ranges
    ]
    return _flag(config)


def _lookup(gamma: int, longest: int) -> str:
    return _flag(
        {
            "method": "ngram",
            "num_speculative_tokens": gamma,
            "prompt_lookup_max": longest,
            "prompt_lookup_min": 1,
        }
    )


KIND = EngineKind(
    name="vllm",
    title="vLLM",
    start=later("engines.servers.vllm:Vllm.of_models"),
    connect=later("engines.servers.vllm:VllmServer"),
    takes=frozenset({"engine_command", "synthetic"}),
    drafts_past_end=True,
    acceptance="engine",
    in_turn=True,
    version_page="/version",
    prints=(
        Printed("metrics", ("vllm",), later("engines.observing.vllm:read_page")),
        Printed("log", ("SpecDecoding metrics:",), later("engines.observing.vllm:read_log")),
        Printed(
            "JSON",
            ("spec_decode_num_drafts", "model_id"),
            later("engines.observing.vllm:read_bench"),
            "vllm bench serve",
        ),
    ),
    # Its `draft_sample_method` says how it drafts.
    exports=Exports(
        _fixed, draft_sampling=None, judges_blocks=True, schedule=_schedule, lookup=_lookup
    ),
)
