"""Shows a server's acceptance: by position, its alpha, a line for each interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engines.kind import engine_kinds, exports_of
from simulator.numerics.intervals import CONFIDENCE, percent
from specplan.reports.export import KEPT, NO_DRAFT
from specplan.reports.requests import requests_json, spread_text
from specplan.reports.table import GAMMA, Column, table

if TYPE_CHECKING:
    from engines.counting import RateInterval
    from engines.observing.by_request import RequestLengths
    from engines.observing.observation import Observation
    from simulator.cost.fitted.runs import Run

SINCE = {
    "metrics": "since the server started, including its warm-up",
    "log": "in the lines of its log",
    "bench": "in a run of a bench",
    "timings": "in its answers",
    "answers": "in its answers",
}


def observation_json(
    observation: Observation, *, seconds: float | None, lengths: RequestLengths | None = None
) -> dict[str, Any]:
    """Returns an observation with drafts as a JSON object.

    seconds: duration of the counting; None: since the server's counters started.
    lengths: draft lengths of requests; None if they were not planned.
    """
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
        **requests_json(observation.requests, lengths),
        "ms_per_token": _milliseconds(observation),
        "draft_ms_per_block": _draft_milliseconds(observation),
    }


def observation_text(
    observation: Observation, *, seconds: float | None, since: bool = False
) -> str:
    """Returns the readable form of counts; since: whether an earlier reading was subtracted."""
    about = [engine_kinds()[observation.kind].title]
    if observation.version is not None:
        about.append(observation.version)
    if observation.model is not None:
        about.append(f"with {observation.model}")
    when = "since the earlier reading" if since else SINCE[observation.origin]
    when = when if seconds is None else f"in {seconds:g} s"
    lines = [
        f"{' '.join(about)}: {observation.drafts} drafts, {observation.drafted} tokens drafted, "
        f"{observation.accepted} accepted {when}; {GAMMA} {_gamma(observation)}.",
        *_drafts_notes(observation),
        *observation.notes,
        "",
    ]
    if observation.hits:
        rates = zip(observation.unconditional, observation.conditional, strict=True)
        columns = [
            Column[Any]("position", lambda row: str(row[0])),
            Column[Any](f"accepted [{percent()}]", lambda row: str(row[1][0])),
            Column[Any](
                f"if those before were [{percent()}]",
                lambda row: "-" if row[1][1] is None else str(row[1][1]),
            ),
        ]
        lines += [table(enumerate(rates, start=1), columns), ""]
    lines += [
        f"Tokens per target call {observation.block_efficiency:.3f}; accepted over drafted "
        f"{observation.accepted_fraction:.3f}, which falls with gamma.",
        f"alpha_iid {_at_least(observation)}{observation.alpha_iid}{_iid(observation)}",
    ]
    milliseconds = _milliseconds(observation)
    if milliseconds is not None:
        lines.append(f"A token took {milliseconds:.2f} ms ({1e3 / milliseconds:.1f} tokens/s).")
    drafting = _draft_milliseconds(observation)
    if drafting is not None:
        lines.append(f"A draft took {drafting:.2f} ms.")
    if not observation.hits:
        lines.append(
            "Acceptance by position is not counted there, or not in all sources: acceptances are "
            "taken as i.i.d."
        )
    if observation.is_lower_bound:
        lines.append(
            f"Blocks drafted {100 * observation.cut_short:.0f} % fewer tokens than gamma "
            f"{observation.gamma}, so that rates of late positions and alpha_iid are lower bounds; "
            "the interval of alpha_iid reaches as high as such blocks allow. Counts cannot show "
            "whether positions differ by more than chance."
        )
    lines += spread_text(observation.requests)
    return "\n".join(lines)


def _gamma(observation: Observation) -> str:
    known = observation.stated_gamma is not None
    return str(observation.gamma) if known else f"at least {observation.gamma} (state --gamma)"


def _drafts_notes(observation: Observation) -> list[str]:
    """Returns a note if drafts ended early, and a note if their number is not known."""
    gamma, drafted = observation.gamma, observation.drafted
    if observation.calls_error > 0:
        least, length = -(-drafted // gamma), 1 + observation.accepted_fraction
        return [
            f"The source does not count calls: {drafted} tokens were drafted in {least} to "
            f"{drafted} of them, so a call yields {length:.2f} to "
            f"{1 + observation.accepted / least:.2f} tokens. The number of tokens generated "
            "meanwhile decides: keep the log's lines 'eval time = ... / N tokens'."
        ]
    if observation.counted.drafted is not None:
        mean = observation.counted.drafted
        return [f"Drafts ended early: {mean:.1f} tokens on average."]
    return []


def as_observed(flags: str, observation: Observation, *, server: str) -> str:
    """Returns exported flags with the observed build's names, and what they change there."""
    exports = exports_of(server)
    if observation.kind != server:
        return flags
    if observation.former_flags:
        for name, former in exports.former:
            flags = flags.replace(name, former)
    early = exports.stopping and observation.counted.drafted is not None
    said = flags.startswith((NO_DRAFT, KEPT))
    return f"{KEPT}\n{flags}" if early and not said else flags


def _draft_milliseconds(observation: Observation) -> float | None:
    """Returns the milliseconds per block for drafting; None if not reported."""
    seconds = observation.draft_seconds
    return None if seconds is None else 1e3 * seconds / observation.drafts


def run_text(run: Run, observation: Observation) -> str:
    """Returns how to plan from an observed run and further runs."""
    gamma = "G" if observation.stated_gamma is None else str(run.gamma)
    batch = "" if run.load.batch == 1 else f",batch={run.load.batch}"
    rates = "/".join(f"{rate:.4g}" for rate in run.rates)
    accepted = f"rates={rates}" if rates else f"length={run.length:.4g}"
    if run.drafted is not None:
        seen = observation
        accepted = f"accepted={seen.accepted}/{seen.drafted},tokens={seen.accepted + seen.drafts}"
    return (
        f"With other runs: specplan plan --run gamma={gamma},"
        f"tpot={1e3 * run.seconds_per_token:.4g},{accepted}{batch} --run ..."
    )


def observation_line(observation: Observation, *, clock: str) -> str:
    """Returns the counts of an interval in one line."""
    rates = " ".join(f"{rate.value:.3f}" for rate in observation.unconditional)
    by_position = f"  by position {rates}" if rates else ""
    return (
        f"{clock}  {observation.drafts} drafts  {observation.block_efficiency:.2f} tokens a call"
        f"{by_position}  alpha_iid {_at_least(observation)}"
        f"{_short(observation.alpha_iid)}"
    )


def _milliseconds(observation: Observation) -> float | None:
    timed = observation.timed
    return None if timed is None else 1e3 * timed.seconds_per_token


def _at_least(observation: Observation) -> str:
    return "at least " if observation.is_lower_bound else ""


def _iid(observation: Observation) -> str:
    consistent, p_value = observation.iid_consistent, observation.iid_p_value
    if consistent is None or p_value is None:
        return "."
    if consistent:
        return f"; positions differ by no more than chance (p = {p_value:.2g})."
    return f"; positions differ by more than chance (p = {p_value:.1g}): not i.i.d."


def _short(rate: RateInterval) -> str:
    return f"{rate.value:.2f} [{rate.low:.2f}, {rate.high:.2f}]"
