"""Plans that follow a profile's recorded texts: drafts that end early, verification by rank."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from engines.kind import engine_kinds, names_of
from specplan.options.costs.profile import Profiled
from specplan.options.plan_options import StoppingOptions

if TYPE_CHECKING:
    from engines.kind import EngineKind
    from estimator.profiles.p_min import Thresholds
    from simulator.acceptance.stopping.ranking import RankedTexts
    from simulator.choice.grid import PlanRequest
    from specplan.reports.basis import Basis

DEFAULT_RULE = "llama.cpp"


def server_of(options: StoppingOptions) -> EngineKind | None:
    """Returns the server with the stated stopping rule; None if no server has it."""
    rule = options.stopping_rule or DEFAULT_RULE
    found = names_of(lambda kind: kind.exports is not None and kind.exports.stopping == rule)
    return engine_kinds()[found[0]] if found else None


def stopped(
    request: PlanRequest,
    basis: Basis,
    options: StoppingOptions,
    file: Profiled,
    *,
    server: str | None,
) -> tuple[PlanRequest, Thresholds]:
    """Returns the request with drafts that end at each threshold, and the texts replayed there.

    Args:
      request, basis: the plan of drafts of a fixed length.
      options: the thresholds and the rule.
      file: the profile whose traces have the confidence.
      server: the engine to export for; None: no export.

    Raises click.UsageError if the profile, the verification, the rule or the costs do not fit.
    """
    if file.path is None or file.profile is None or basis.draft_sampling is None:
        raise click.UsageError("--p-min needs --profile, whose traces have the confidence")
    from estimator.profiles.p_min import AUTO, Thresholds, recorded_traces
    from simulator.acceptance.replay import Recorded
    from simulator.acceptance.stopping.rule import RULES

    replayed = all(isinstance(each, Recorded) for each in request.acceptances)
    if basis.verification != "token" or not replayed:
        raise click.UsageError(
            "--p-min needs drafts that are judged token by token, without lenience"
        )
    exports = None if server is None else engine_kinds()[server].exports
    name = options.stopping_rule or (DEFAULT_RULE if exports is None else exports.stopping)
    if server is not None and not name:
        raise click.UsageError(f"--p-min: {server} has no threshold that ends a draft")
    if name not in RULES:
        raise click.UsageError(f"--stopping-rule must be one of {', '.join(RULES)}, got {name}")
    stated = options.p_min or ""
    try:
        p_mins = AUTO if stated == "auto" else tuple(map(float, stated.split(",")))
    except ValueError:
        raise click.UsageError(
            f"--p-min must be auto or numbers in [0, 1], such as 0.3,0.5, got {stated!r}"
        ) from None
    sampling = basis.draft_sampling
    traces = recorded_traces(file.path, file.profile, sampling, option="--p-min")
    found = Thresholds(traces, RULES[name], p_mins, drawn=sampling == "sampled")
    if len(request.prices) > 1:
        raise click.UsageError("--p-min needs a single cost")
    longest = min(request.max_gamma, found.max_gamma)
    return replace(request, acceptances=found.acceptances, doubt=None, max_gamma=longest), found


def ranked(file: Profiled, basis: Basis) -> RankedTexts:
    """Returns the profile's texts for verification by rank (`--verification adaptive`)."""
    from estimator.profiles.adaptive import ranked_texts
    from estimator.profiles.p_min import recorded_traces

    option = "--verification adaptive"
    if file.path is None or file.profile is None or basis.draft_sampling != "argmax":
        raise click.UsageError(f"{option} needs argmax drafts: --draft-sampling argmax")
    return ranked_texts(recorded_traces(file.path, file.profile, "argmax", option=option))
