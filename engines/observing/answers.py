"""JSON that counts drafts: the result of `vllm bench serve`, and answers of llama.cpp's server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engines.observing.observation import Observation

BENCH = "spec_decode_num_drafts"


def read_json(text: str, *, gamma: int | None) -> Observation:
    """Returns what JSON counts: one object, or one a line, which are summed.

    Args:
      text: a result of `vllm bench serve --save-result`, or answers with llama.cpp's `timings`.
      gamma: drafted tokens per block, where the user says it.

    Raises:
      ValueError: if it is no JSON, or counts no drafts.
    """
    total: Observation | None = None
    for value in _values(text):
        one = _bench(value) if BENCH in value else _timings(value, gamma)
        total = one if total is None else total + one
    if total is None:
        raise ValueError("JSON of drafts must hold an object, got none")
    return total


def _values(text: str) -> list[Mapping[str, Any]]:
    try:
        found = [json.loads(text)]
    except json.JSONDecodeError:
        try:
            found = [json.loads(line) for line in text.split("\n") if line.strip()]
        except json.JSONDecodeError as error:
            raise ValueError(f"JSON of drafts must be JSON, got: {error}") from None
    if len(found) == 1 and isinstance(found[0], list):
        found = found[0]
    for value in found:
        if not isinstance(value, dict):
            raise ValueError(f"JSON of drafts must be objects, got {type(value).__name__}")
    return found


def _bench(value: Mapping[str, Any]) -> Observation:
    drafts = _count(value, BENCH)
    rates = value.get("spec_decode_per_position_acceptance_rates")
    if not isinstance(rates, list) or not rates:
        raise ValueError(
            "vllm bench serve must tell spec_decode_per_position_acceptance_rates, got "
            f"{rates!r}"
        )
    model = value.get("model_id")
    return Observation(
        "vllm",
        "bench",
        len(rates),
        drafts,
        _count(value, "spec_decode_draft_tokens"),
        _count(value, "spec_decode_accepted_tokens"),
        tuple(round(float(rate) * drafts) for rate in rates),
        model=model if isinstance(model, str) else None,
    )


def _timings(value: Mapping[str, Any], gamma: int | None) -> Observation:
    """Returns the counts of one answer.

    Every target pass but the prompt's emits what stood of its draft, and one token more. The last
    pass of a text may draft nothing, and is taken for a draft all the same.
    """
    timings = value.get("timings", value)
    if not isinstance(timings, dict) or "predicted_n" not in timings:
        raise ValueError(
            "JSON of drafts must have spec_decode_num_drafts (vllm bench serve) or timings "
            f"(llama.cpp), got {', '.join(map(str, [*value][:5])) or 'nothing'}"
        )
    if "draft_n" not in timings:
        raise ValueError(
            "timings must have draft_n, got none: speculation is off; a draft model "
            "(--model-draft, with --spec-type draft-simple) turns it on"
        )
    drafted, accepted = _count(timings, "draft_n"), _count(timings, "draft_n_accepted")
    drafts = _count(timings, "predicted_n") - 1 - accepted
    model = value.get("model")
    return Observation(
        "llama.cpp",
        "timings",
        gamma,
        drafts,
        drafted,
        accepted,
        model=model if isinstance(model, str) else None,
    )


def _count(value: Mapping[str, Any], name: str) -> int:
    found = value.get(name)
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise ValueError(f"{name} must be a whole number of at least 0, got {found!r}")
    return found
