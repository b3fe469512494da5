"""Acceptance by request, as vLLM's answers report it, and its spread between requests.

vLLM reports it with `--per-request-spec-decode-metrics summary|detailed` (pull request 48915) as
`metrics.speculative_decoding` of an answer. In counters a short block that was accepted in
full looks rejected; with the arrays of `detailed` it does not.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engines.observing.observation import Observation, RequestCounts, whole_number

KEY = "speculative_decoding"


def read_answer(answer: Mapping[str, Any], gamma: int | None) -> Observation:
    """Returns the counts of one answer of vLLM, as one request; refuses contradictions."""
    metrics = answer.get("metrics")
    found = metrics.get(KEY) if isinstance(metrics, dict) else None
    if not isinstance(found, dict):
        raise ValueError(
            f"an answer of vLLM must have metrics.{KEY}, got none: "
            "--per-request-spec-decode-metrics turns it on, for requests of one sequence"
        )
    steps, drafted = (whole_number(found, name) for name in ("num_spec_steps", "num_draft_tokens"))
    accepted, most = (
        whole_number(found, name) for name in ("num_accepted_draft_tokens", "num_spec_tokens")
    )
    histogram = _counts(found, "acceptance_histogram")
    if sum(histogram) != steps or sum(j * n for j, n in enumerate(histogram)) != accepted:
        raise ValueError(
            f"acceptance_histogram must have {steps} steps with {accepted} accepted tokens, got "
            f"{list(histogram)}"
        )
    rejected = steps - histogram[-1] if histogram and drafted == most * steps else None
    if found.get("per_step_accepted") is not None:  # null or missing without `detailed`
        hits, lengths = (_counts(found, f"per_step_{each}") for each in ("accepted", "drafted"))
        if len(hits) != len(lengths) or sum(hits) != accepted or sum(lengths) != drafted:
            raise ValueError("per_step_accepted and per_step_drafted must add up to the totals")
        rejected = sum(hit < length for hit, length in zip(hits, lengths, strict=True))
    model = answer.get("model")
    return of_one_request(
        Observation(
            kind="vllm",
            origin="answers",
            stated_gamma=most if gamma is None else gamma,
            model=model if isinstance(model, str) else None,
            drafts=steps,
            drafted=drafted,
            accepted=accepted,
            by_position=tuple(sum(histogram[j:]) for j in range(1, len(histogram))),
            rejected=rejected,
        )
    )


def of_one_request(counted: Observation) -> Observation:
    """Returns counts with themselves as their only request."""
    if counted.drafts == 0 or counted.drafted == 0:
        return counted
    alpha = counted.alpha_iid.value
    trials = counted.drafts if counted.accepted == 0 else counted.accepted / alpha
    one = RequestCounts(counted.drafts, counted.drafted, counted.accepted, trials)
    return replace(counted, requests=(one,))


def alpha_spread(requests: Sequence[RequestCounts]) -> float | None:
    """Returns the standard deviation of α between requests, without sampling noise.

    The moment estimate of a beta-binomial distribution (Kleinman 1973). Dependent acceptances
    within a text make it too large. None for fewer than two requests.
    """
    total = sum(each.trials for each in requests)
    if len(requests) < 2 or total == 0:
        return None
    mean = sum(each.accepted for each in requests) / total
    shares = [1 - each.trials / total for each in requests]
    squares = sum(each.trials * (each.accepted / each.trials - mean) ** 2 for each in requests)
    chance = mean * (1 - mean) * sum(shares)
    weight = sum(share * (each.trials - 1) for share, each in zip(shares, requests, strict=True))
    return math.sqrt(max(squares - chance, 0.0) / weight) if weight > 0 else None


def _counts(found: Mapping[str, Any], name: str) -> tuple[int, ...]:
    values = found.get(name)
    if not isinstance(values, list):
        raise ValueError(f"{name} must be a list of whole numbers, got {values!r}")
    return tuple(whole_number({name: each}, name) for each in values)
