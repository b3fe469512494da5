"""TensorRT-LLM: told γ in its configuration file, neither started nor read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engines.kind import Drafted, EngineKind, Exports

if TYPE_CHECKING:
    from simulator.choice.schedule import Range


METHODS = {
    "model": "DraftTarget", "PARD": "PARD", "EAGLE-3": "Eagle3", "MTP": "MTP", "DFlash": "DFlash",
}  # fmt: skip


def _config(decoding_type: str, **settings: object) -> str:
    """Returns the part of its file that turns speculation on."""
    return "\n".join(
        (
            "# in the file of --config:",
            "speculative_config:",
            f"  decoding_type: {decoding_type}",
            *(f"  {name}: {value}" for name, value in settings.items()),
        )
    )


def _drafting(draft: Drafted, **settings: object) -> str:
    model = {} if draft.kind == "MTP" else {"speculative_model": draft.name}
    return _config(METHODS[draft.kind], **model, **settings)


def _fixed(gamma: int, draft: Drafted, *_: object) -> str:
    return _drafting(draft, max_draft_len=gamma)


def _schedule(ranges: Sequence[Range], draft: Drafted) -> str:
    # Batch sizes beyond the last one draft nothing.
    paying = {each.last_batch: each.gamma for each in ranges if each.gamma > 0}
    return _drafting(
        draft,
        max_draft_len=max(paying.values()),
        draft_len_schedule="{" + ", ".join(f"{b}: {g}" for b, g in paying.items()) + "}",
    )


def _lookup(gamma: int, _shortest: int, longest: int) -> str:
    return _config("NGram", max_draft_len=gamma, max_matching_ngram_size=longest)


KIND = EngineKind(
    name="tensorrt-llm",
    title="TensorRT-LLM",
    exports=Exports(METHODS, _fixed, draft_sampling="argmax", schedule=_schedule, lookup=_lookup),
)
