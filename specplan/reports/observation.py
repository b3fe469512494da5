"""A server's acceptance as text and JSON: alpha, and by position, request and time interval."""

from collections.abc import Mapping, Sequence
from typing import Any

from engines.kind import engine_kinds, exports_of
from engines.observing.alphas import RequestCounts, alpha_spread
from engines.observing.by_context import by_context
from engines.observing.by_request import RequestLengths
from engines.observing.observation import Observation
from estimator.profiles.parts import Estimate
from simulator.numerics.intervals import CONFIDENCE, percent
from specplan.reports.basis import ALPHA
from specplan.reports.flags import KEPT, NO_DRAFT
from specplan.reports.kept import KEPT_RUN
from specplan.reports.observed_times import steps_lines, times_json, times_lines
from specplan.reports.table import GAMMA, Column, folded, table

_CONTEXTS: list[Column[dict[str, Any]]] = [
    ("context", "{first} to {last}"),
    ("requests", "{requests}"),
    ("drafts", "{drafts}"),
    ("tokens/call", "{length:.2f}"),
    (percent(), "{low:.2f} to {high:.2f}"),
]
_SINCE = {
    "metrics": "since the server started, including its warm-up",
    "log": "in the lines of its log",
    "bench": "in a run of a bench",
    "timings": "in its answers",
    "answers": "in its answers",
}


def observation_json(
    observation: Observation, *, seconds: float | None, lengths: RequestLengths | None = None
) -> dict[str, Any]:
    """Returns a server's observed counts as a JSON object; at least one draft must be counted.

    seconds: seconds during which drafts were counted; None: since the server's counters started.
    lengths: the best draft length of each request; None if none was planned.
    """
    drafting = observation.draft_seconds
    return {
        "source": {
            "kind": observation.kind,
            "from": observation.origin,
            "version": observation.version,
            "model": observation.model,
        },
        "seconds": seconds,
        "confidence": CONFIDENCE,
        "gamma": observation.gamma,
        "gamma_is_lower_bound": observation.stated_gamma is None,
        "drafted_per_block": observation.drafted_per_block,
        "drafts_error": observation.calls_error,
        "length_of": "all_steps" if observation.all_steps else "drafting_steps",
        "drafting_steps": observation.drafting,
        "drafts": observation.drafts,
        "drafted": observation.drafted,
        "accepted": observation.accepted,
        "accepted_by_position": observation.unconditional,
        "conditional": observation.conditional,
        "block_efficiency": observation.block_efficiency,
        "accepted_fraction": observation.accepted_fraction,
        "alpha_iid": observation.alpha_iid,
        "alpha_iid_is_lower_bound": observation.is_lower_bound,
        "cut_short": observation.cut_short,
        "iid_consistent": observation.iid_consistent,
        "iid_p_value": observation.iid_p_value,
        **_requests_json(observation.requests, lengths),
        "by_context": [e._asdict() for e in by_context(observation.requests, observation.gamma)],
        **times_json(observation),
        "draft_ms_per_block": None if drafting is None else 1e3 * drafting / observation.drafts,
    }


def observation_text(
    observation: Observation, data: Mapping[str, Any], *, since: bool = False
) -> str:
    """Returns the observed counts as text.

    data: the result of `observation_json`; since: whether an earlier reading was subtracted.
    """
    gamma, drafts, drafted = observation.gamma, observation.drafts, observation.drafted
    named = observation.model and f"with {observation.model}"
    about = filter(None, [engine_kinds()[observation.kind].title, observation.version, named])
    when = "since the earlier reading" if since else _SINCE[observation.origin]
    when = when if data["seconds"] is None else f"in {data['seconds']:g} s"
    stated = f"at least {gamma} (state --gamma)" if data["gamma_is_lower_bound"] else gamma
    lines = [
        f"{' '.join(about)}: {drafts} drafts, {drafted} tokens drafted, "
        f"{observation.accepted} accepted {when}; {GAMMA} {stated}."
    ]
    if observation.calls_error > 0:
        least, length = -(-drafted // gamma), 1 + observation.accepted_fraction
        lines.append(
            f"The source does not count calls: {drafted} tokens were drafted in {least} to "
            f"{drafted} of them, so a call yields {length:.2f} to "
            f"{1 + observation.accepted / least:.2f} tokens. The number of tokens generated "
            "meanwhile decides: keep the log's lines 'eval time = ... / N tokens'."
        )
    elif steps := steps_lines(observation):
        lines += steps
    elif observation.counted.drafted is not None:
        lines.append(f"Drafts ended early: {observation.counted.drafted:.1f} tokens on average.")
    lines += [*observation.notes, ""]
    if observation.hits:
        rates = zip(data["accepted_by_position"], data["conditional"], strict=True)
        rows = [
            {"at": at, "all": all_, "if": conditional}
            for at, (all_, conditional) in enumerate(rates, 1)
        ]
        columns: list[Column[dict[str, Any]]] = [
            ("position", "{at}"),
            (f"accepted [{percent()}]", "{all}"),
            (f"if those before were [{percent()}]", "{if}"),
        ]
        lines += [table(rows, columns), ""]
    if data["by_context"]:
        lines += [table(data["by_context"], _CONTEXTS), ""]
    iid = ""
    if (p_value := observation.iid_p_value) is not None:
        iid = f"; positions differ by more than chance (p = {p_value:.1g}): not i.i.d"
        if observation.iid_consistent:
            iid = f"; positions differ by no more than chance (p = {p_value:.2g})"
    lines += [
        f"Tokens per target call {observation.block_efficiency:.3f}; accepted over drafted "
        f"{observation.accepted_fraction:.3f}.",
        f"alpha_iid {'at least ' * observation.is_lower_bound}{observation.alpha_iid}{iid}.",
        ALPHA,
    ]
    lines += times_lines(observation)
    if (drafting := data["draft_ms_per_block"]) is not None:
        lines.append(f"A draft took {drafting:.2f} ms.")
    if not observation.hits:
        lines.append(
            "Acceptance by position is not counted there, or not in all sources: acceptances are "
            "taken as i.i.d."
        )
    if observation.is_lower_bound:
        lines.append(
            f"Blocks drafted {100 * observation.cut_short:.0f} % fewer tokens than gamma {gamma}, "
            "so that rates of late positions and alpha_iid are lower bounds; "
            "the interval of alpha_iid ends at the largest value that such counts allow. "
            "They cannot show whether positions differ by more than chance."
        )
    if (spread := data["alpha_spread"]) is not None:
        alphas = [request["alpha_iid"] for request in data["requests"]]
        lines.append(
            f"alpha_iid of {len(alphas)} requests: {min(alphas):.3f} to {max(alphas):.3f}; beyond "
            f"chance they differ by {spread:.3f} (standard deviation: specplan traffic "
            f"--alpha-spread {spread:.3f})."
        )
    return "\n".join(lines)


def as_observed(flags: str, observation: Observation, *, server: str) -> str:
    """Returns flags with the names that the observed server's version uses.

    Flags of an engine other than the observed one are unchanged. A comment is added if some of the
    observed drafts ended before γ tokens.
    """
    exports = exports_of(server)
    if observation.kind != server:
        return flags
    if observation.former_flags:
        for name, former in exports.former:
            flags = flags.replace(name, former)
    early = exports.stopping and observation.counted.drafted is not None
    said = flags.startswith((NO_DRAFT, KEPT, KEPT_RUN))
    return f"{KEPT}\n{flags}" if early and not said else flags


def observation_line(observation: Observation, *, clock: str) -> str:
    """Returns one line with the counts of a time interval; clock: text with the time of day."""
    rates = " ".join(f"{rate.value:.3f}" for rate in observation.unconditional)
    by_position = f"  by position {rates}" if rates else ""
    alpha = observation.alpha_iid
    return (
        f"{clock}  {observation.drafts} drafts  {observation.block_efficiency:.2f} tokens a call"
        f"{by_position}  alpha_iid {'at least ' * observation.is_lower_bound}"
        f"{alpha.value:.2f} [{alpha.low:.2f}, {alpha.high:.2f}]"
    )


def _requests_json(
    requests: Sequence[RequestCounts], lengths: RequestLengths | None
) -> dict[str, Any]:
    """Returns the JSON fields on single requests; lengths: their best draft lengths, if planned."""
    rows = [
        {**request._asdict(), "alpha_iid": request.accepted / request.trials}
        for request in requests
    ]
    data = {"requests": rows, "alpha_spread": alpha_spread(requests)}
    if lengths is None:
        return data
    for one, gamma in zip(rows, lengths.best, strict=True):
        one["best_gamma"] = gamma
    categories = []
    for name, gamma in lengths.categories.items():
        same = [request for request in requests if request.category == name]
        alpha = sum(request.accepted for request in same) / sum(request.trials for request in same)
        category_row = {
            "category": name,
            "requests": len(same),
            "alpha_iid": alpha,
            "best_gamma": gamma,
        }
        categories.append(category_row)
    by_request = lengths._asdict() | {"categories": categories}
    del by_request["best"]
    return data | {"by_request": by_request}


def lengths_text(lengths: Mapping[str, Any]) -> str:
    """Returns text with the best draft lengths by request, and for each category of requests.

    lengths: the field `by_request` of `observation_json`.
    """
    shares = ", ".join(f"K {gamma}: {share:.0%}" for gamma, share in lengths["shares"].items())
    lines = [
        f"The best K by request: {shares} of requests. If the alpha of each request were known "
        f"before it begins, the best K of each would gain {_gain(lengths['gain'])} over K "
        f"{lengths['one_gamma']} for all."
    ]
    if lengths["category_gain"] is not None:
        columns: list[Column[dict[str, Any]]] = [
            ("category", lambda cells: cells["category"] or "(none)"),
            ("requests", "{requests}"),
            ("alpha_iid", "{alpha_iid:.3f}"),
            (f"best {GAMMA}", "{best_gamma}"),
        ]
        lines += ["", table(lengths["categories"], columns), ""]
        lines.append(
            f"A K for each category gains {_gain(lengths['category_gain'])} over one K for all, "
            "each request with a K chosen on the others."
        )
    return folded("\n".join(lines))


def _gain(gain: Estimate) -> str:
    value = f"{100 * (gain.value - 1):.1f} %"
    if gain.low is None or gain.high is None:
        return value
    low, high = (100 * (end - 1) for end in (gain.low, gain.high))
    return f"{value} ({percent()} interval {low:.1f} to {high:.1f})"
