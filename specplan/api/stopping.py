"""Plans whose drafts end early, or whose drafted tokens are verified by rank."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engines.kind import engine_kinds
from specplan.api.request import DEFAULT_RULE, Question

if TYPE_CHECKING:
    from estimator.profiles.p_min import Thresholds
    from simulator.acceptance.stopping.ranking import RankedTexts
    from simulator.choice.plans import PlanRequest
    from specplan.api.recorded import Recorded


def stopped(question: Question, request: PlanRequest) -> tuple[PlanRequest, Thresholds]:
    """Returns the request for plans with each confidence below which a draft ends.

    request: the plan with drafts of a fixed length.
    """
    from estimator.profiles.p_min import AUTO, matched, recorded_traces, replayed
    from simulator.acceptance.replayed import Replayed
    from simulator.acceptance.stopping.stopped_text import RULES

    file, source = question.recorded, request.acceptances[0].source
    stopping, server = question.stopping, question.server
    if file is None or file.path is None or source.draft_sampling is None:
        raise ValueError("`p_min` needs `profile`, whose traces have the confidence")
    replayable = all(isinstance(acceptance, Replayed) for acceptance in request.acceptances)
    if source.verification != "token" or not replayable:
        raise ValueError("`p_min` needs drafts that are judged token by token, without lenience")
    if len(request.costs) > 1:
        raise ValueError("`p_min` needs a single cost")
    stated = stopping.p_min or ""
    thresholds = matched(file.path, file.profile, stated)
    if thresholds is not None:
        if stopping.stopping_rule is not None or server is not None:
            raise ValueError(
                "`p_min` of a lookup is a least number of matched tokens, without `stopping_rule` "
                "and `server`: for flags measure `draft` lookup:vllm:MIN-MAX"
            )
        return _ended(request, thresholds), thresholds
    exports = None if server is None else engine_kinds()[server].exports
    name = stopping.stopping_rule or (DEFAULT_RULE if exports is None else exports.stopping)
    if server is not None and not name:
        raise ValueError(f"`p_min`: {server} has no threshold that ends a draft")
    if name not in RULES:
        raise ValueError(f"`stopping_rule` must be one of {', '.join(RULES)}, got {name}")
    try:
        p_mins = AUTO if stated == "auto" else tuple(map(float, stated.split(",")))
    except ValueError:
        raise ValueError(
            f"`p_min` must be auto or numbers in [0, 1], such as 0.3,0.5, got {stated!r}"
        ) from None
    sampling = source.draft_sampling
    traces = recorded_traces(file.path, file.profile, sampling, option="`p_min`")
    thresholds = replayed(traces, RULES[name], p_mins, drawn=sampling == "sampled")
    return _ended(request, thresholds), thresholds


def _ended(request: PlanRequest, thresholds: Thresholds) -> PlanRequest:
    longest = min(request.max_gamma, thresholds.max_gamma)
    source = request.acceptances[0].source
    acceptances = tuple(replace(acceptance, source=source) for acceptance in thresholds.acceptances)
    return replace(request, acceptances=acceptances, doubt=None, max_gamma=longest)


def ranked(file: Recorded | None, sampling: str | None) -> RankedTexts:
    """Returns a profile's texts with the drafts' confidences, for adaptive verification."""
    from estimator.profiles.adaptive import ranked_texts
    from estimator.profiles.p_min import recorded_traces

    if file is None or file.path is None or sampling != "argmax":
        raise ValueError("`verification` adaptive needs argmax drafts: `draft_sampling` argmax")
    option = "`verification` adaptive"
    return ranked_texts(recorded_traces(file.path, file.profile, "argmax", option=option))
