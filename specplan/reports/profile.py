"""A profile as text: alpha, c, times, and the gain of each gamma."""

from typing import Any

from engines.kind import listed, names_of
from estimator.profiles.best import BestAtBatch, best_by_batch, plan_of
from estimator.profiles.parts import Alpha, Estimate
from estimator.profiles.profile import Profile
from estimator.timing.rates import QUIET_PERCENT
from estimator.traces.traces import DraftSampling
from simulator.choice.plan import Plan
from simulator.numerics.intervals import percent
from specplan.reports.advice import decision_lines
from specplan.reports.contexts import acceptance_lines
from specplan.reports.table import GAMMA, MS, TOKENS, Column, bounds, ranged, shown, table

TIMES_IN_DOUBT = "Do not use times in doubt: end other programs, or measure more prompts."
_SHOWN_POSITIONS = 8
# The least ratio of two gains for which an export names the other way to draft.
_MORE = 1.01
# Longest shown name of a category, so that a row fits a terminal.
_WIDEST = 14


def profile_text(profile: Profile) -> str:
    """Returns a profile with times as text: alpha, c, times, and the speed-up at each gamma."""
    alpha, times, cost, setup = profile.alpha, profile.times, profile.cost, profile.setup
    assert times is not None
    assert cost is not None
    rows = [
        {
            "gamma": gamma,
            # A drafter that never proposed this many tokens was not timed at this γ.
            "verify": times.target_ms.get(gamma + 1),
            "replay": ranged(factor.replay, factor.low, factor.high),
            "iid": factor.iid,
            "ms": (ms := 1e3 * cost.baseline_seconds / factor.replay),
            "speed": 1e3 / ms,
        }
        for gamma, factor in profile.improvement_factor.items()
    ]
    columns: list[Column[dict[str, Any]]] = [
        (GAMMA, "{gamma}"),
        ("verify ms", "{verify:.2f}"),
        ("speed-up (replay)", "{replay}"),
        ("(i.i.d.)", "{iid:.2f}"),
        (MS, "{ms:.2f}"),
        (TOKENS, "{speed:.1f}"),
    ]
    ran_on = f"{setup.engine} {setup.engine_version}"
    if setup.engine is None:
        threads = "" if setup.threads is None else f", threads {setup.threads}"
        ran_on = f"{setup.device}, {setup.dtype}{threads}"
    level = "" if alpha.low is None else f"; intervals: {percent(alpha.level)}"
    accepts = []
    if rates := profile.drafting().accepted_by_position:
        first = " ".join(f"{rate.value:.2f}" for rate in rates[:_SHOWN_POSITIONS])
        last = min(_SHOWN_POSITIONS, len(rates))
        accepts = [f"accepts {first} at positions 1 to {last} of a block of {len(rates)}"]
    advice = ["One prompt gives no interval, so no gamma is recommended: measure more prompts."]
    if alpha.prompts != 1:
        plan = plan_of(profile, cost)
        advice = [*decision_lines(plan), *other_lines(profile, plan)]
    return "\n".join(
        [
            f"target {setup.target}, draft {setup.draft}, {ran_on}",
            f"alpha   {_within(alpha, '.4f')} over "
            f"{alpha.tokens} tokens of {alpha.prompts} prompts{level}",
            *accepts,
            f"c       {'-' if times.c is None else _within(times.c, '.4f')}; "
            f"c_hat {shown(profile.c_hat, '.4f')}",
            f"ms      target step {times.target_ms[1]:.3f}, draft step "
            f"{times.draft_ms:.3f}, overhead per block {times.overhead_ms:.3f}, "
            f"of the baseline {times.baseline_overhead_ms:.3f}",
            "",
            table(rows, columns, best=lambda cells: cells["gamma"] == profile.optimal_gamma),
            *_workloads(profile),
            *acceptance_lines(profile.drafting().at_contexts, profile.compared_gamma),
            "",
            *advice,
            *_by_batch(profile),
            *clock_lines(profile),
        ]
    )


def _by_batch(profile: Profile) -> list[str]:
    """Returns a table of step times and the best gamma at each timed batch size; [] if none."""
    best = best_by_batch(profile)
    if not best:
        return []
    contexts = dict.fromkeys(batch.load.context for batch in best)
    longest = max(best[0].load.target_ms)
    columns: list[Column[BestAtBatch]] = [
        *([("context", "{load.context}")] if len(contexts) > 1 else []),
        ("batch", "{load.batch}"),
        ("step ms", "{load.target_ms[1]:.2f}"),
        (f"pass of {longest}", lambda batch: shown(max(batch.load.target_ms.items())[1])),
        ("draft ms", "{load.draft_ms:.2f}"),
        ("best K", lambda batch: str(batch.gamma) if batch.gamma > 0 else "none"),
        ("spread", "{load.spread_percent:.0f} %"),
    ]
    return ["", f"Context {', '.join(map(str, contexts))}:", table(best, columns), ""]


def other_lines(profile: Profile, plan: Plan) -> list[str]:
    """Returns a line with the plan for the other way to sample drafts; [] if it accepts the same.

    plan: the plan for drafts that are sampled as in the profile.
    """
    way = other_way(profile.draft_sampling)
    if profile.cost is None or way not in profile.draftings:
        return []
    other = plan_of(profile, profile.cost, way)
    return [] if other.acceptance == plan.acceptance else [other_line(other, way)]


def clock_lines(profile: Profile) -> list[str]:
    """Returns lines that state whether the machine was quiet and how much its speed varied."""
    clock = profile.clock
    apart, within = clock.noise_percent, clock.noise_within_percent
    if clock.doubts:
        return [f"In doubt: {'; '.join(clock.doubts)}. {TIMES_IN_DOUBT}"]
    if apart is None:
        noisy = "The machine was not quiet: trust none of these times, and measure again."
        return [noisy] * (clock.quiet is False)
    if clock.quiet is False:
        return [
            "The machine was not quiet: the baseline's speed may differ from itself by "
            f"{max(apart, within or 0):.0f} % (at most {QUIET_PERCENT:.0f} % is quiet). Trust none "
            "of these times, and measure again."
        ]
    count = {None: "", 1: "once"}.get(clock.repeats, f"{clock.repeats} times")
    timings = f" (each run timed {count}: as often as --repeats and the time allow)" * bool(count)
    level = percent(profile.alpha.level)
    reaching = "" if within is None else f", {level} of the time within {within:.1f} %"
    return [f"The baseline timed against itself differs by {apart:.1f} %{reaching}{timings}."]


def _workloads(profile: Profile) -> list[str]:
    """Returns a table of alpha and speed-up by category of prompts, with intervals over prompts."""
    gamma, lines = profile.compared_gamma, list[str]()
    for by, workloads in profile.workloads.items():
        rows = [
            {
                "name": name if len(name) <= _WIDEST else f"{name[: _WIDEST - 1]}…",
                "n": workload.alpha.prompts,
                "alpha": _within(workload.alpha, ".2f"),
                "tokens": _within(workload.tokens_per_call[gamma], ".1f"),
                "speed": _within(workload.improvement_factor[gamma], ".2f"),
                "best": workload.optimal_gamma or "none",
            }
            for name, workload in workloads.items()
        ]
        columns: list[Column[dict[str, Any]]] = [
            (by, "{name}"), ("n", "{n}"), ("alpha", "{alpha}"), ("tokens/call", "{tokens}"),
            ("speed-up", "{speed}"), ("best K", "{best}"),
        ]  # fmt: skip
        lines += ["", f"At {GAMMA} {gamma}, by {by}:", table(rows, columns)]
    return lines


def _within(estimate: Estimate | Alpha, form: str) -> str:
    return ranged(estimate.value, estimate.low, estimate.high, form)


def texts_profile(profile: Profile) -> str:
    """Returns a profile of recorded texts, which has no times, as text."""
    alpha, drafting, rows = profile.alpha, profile.drafting(), []
    for gamma, blocks in drafting.blocks.items():
        tokens = float(drafting.acceptance.tokens_per_call(gamma))
        drafted = sum(count * length for length, count in enumerate(blocks)) / sum(blocks)
        share = (tokens - 1) / drafted if drafted > 0 else None
        rows.append({"gamma": gamma, "tokens": tokens, "drafted": drafted, "share": share})
    columns: list[Column[dict[str, Any]]] = [
        ("gamma", "{gamma}"),
        ("tokens per call", "{tokens:.3f}"),
        ("drafted per call", "{drafted:.3f}"),
        ("accepted of drafted", "{share:.3f}"),
    ]
    further = acceptance_lines(drafting.at_contexts, profile.compared_gamma)
    return (
        f"{profile.setup.target}, draft {profile.setup.draft}\n"
        f"alpha   {alpha.value:.4f}  {bounds(alpha.low, alpha.high, '.4f')} over "
        f"{alpha.tokens} tokens of {alpha.prompts} texts\n\n"
        + "\n".join([table(rows, columns), *further])
    )


def samplings_json(plan: Plan, other: Plan, sampling: DraftSampling) -> dict[str, Any]:
    """Returns the advised γ and its speed-up for sampled and for argmax (likeliest-token) drafts.

    sampling: "sampled" or "argmax", the drafts of `plan`; `other` is the plan for the other kind.
    """
    return {
        way: {"advised_gamma": sampled.advised_gamma, "improvement_factor": advised_gain(sampled)}
        for way, sampled in ((sampling, plan), (other_way(sampling), other))
    }


def other_way(way: DraftSampling) -> DraftSampling:
    return "argmax" if way == "sampled" else "sampled"


def drawn_by(way: DraftSampling) -> str:
    """Returns text that names the drafts (sampled or argmax), and servers that default to them."""
    servers = names_of(lambda kind: kind.exports and kind.exports.draft_sampling == way)
    return f"{way.capitalize()} drafts, as by default in {listed(servers)} (--draft-sampling {way})"


def other_line(other: Plan, way: DraftSampling) -> str:
    """Returns a line with the draft length and speed-up that the plan `other` advises.

    way: whether the drafts of `other` are sampled or argmax.
    """
    gamma, gain = other.advised_gamma, advised_gain(other)
    advice = f"K = {gamma}, {gain:.2f} times" if gamma > 0 else "do not speculate"
    return f"{drawn_by(way)}: {advice}."


def more_gain(plan: Plan, other: Plan) -> str:
    """Returns a comment for flags if the plan of the other way to draft gains more, else ""."""
    gain_here, gain = advised_gain(plan), advised_gain(other)
    way = other.acceptance.source.draft_sampling
    if way is None or gain <= _MORE * gain_here:
        return ""
    return (
        f"# With {way} drafts (--draft-sampling {way}) K = {other.advised_gamma} gains more: "
        f"{gain:.2f} times, not {gain_here:.2f}.\n"
    )


def advised_gain(plan: Plan) -> float:
    """Returns the speed-up at the advised γ; 1 if no speculation is advised."""
    gamma = plan.advised_gamma
    return float(plan.curve.improvement_factor[gamma - 1]) if gamma > 0 else 1.0
