"""A profile as text: alpha, c, times, and the gain of each gamma."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulator.numerics.intervals import percent
from specplan.reports.advice import decision_lines
from specplan.reports.samplings import other_line, other_way
from specplan.reports.table import GAMMA, MS, TOKENS, Column, bounds, ranged, shown, table
from specplan.reports.validation import TIMES_IN_DOUBT

if TYPE_CHECKING:
    from estimator.profiles.best import BestAtBatch
    from estimator.profiles.parts import Alpha, Estimate, Setup
    from estimator.profiles.profile import Improvement, Profile, Workload
    from simulator.choice.plan import Plan

SHOWN_POSITIONS = 8
# Longest shown name of a category, so that a row fits a terminal.
_WIDEST = 14


def profile_text(profile: Profile) -> str:
    alpha, setup, times = profile.alpha, profile.setup, profile.times
    assert times is not None
    c, best = times.c, profile.optimal_gamma
    columns: list[Column[int]] = [
        Column(GAMMA, str),
        # A drafter that never proposed so much was not timed at it.
        Column("verify ms", lambda gamma: shown(times.target_ms.get(gamma + 1))),
        Column("speed-up (replay)", lambda gamma: _replayed(profile.improvement_factor[gamma])),
        Column("(i.i.d.)", lambda gamma: shown(profile.improvement_factor[gamma].iid)),
        Column(MS, lambda gamma: shown(_milliseconds(profile, gamma))),
        Column(TOKENS, lambda gamma: shown(1e3 / _milliseconds(profile, gamma), ".1f")),
    ]
    step = "-" if c is None else ranged(c.value, c.low, c.high, ".4f")
    level = "" if alpha.low is None else f"; intervals: {percent(alpha.level)}"
    return "\n".join(
        [
            f"target {setup.target}, draft {setup.draft}, {_ran_on(setup)}",
            f"alpha   {ranged(alpha.value, alpha.low, alpha.high, '.4f')} over "
            f"{alpha.tokens} tokens of {alpha.prompts} prompts{level}",
            *_positions(profile),
            f"c       {step}; c_hat {shown(profile.c_hat, '.4f')}",
            f"ms      target step {times.target_ms[1]:.3f}, draft step "
            f"{times.draft_ms:.3f}, overhead per block {times.overhead_ms:.3f}, "
            f"of the baseline {times.baseline_overhead_ms:.3f}",
            "",
            table(profile.improvement_factor, columns, best=lambda gamma: gamma == best),
            *workload_lines(profile),
            "",
            *_advice(profile),
            *_by_batch(profile),
            *clock_lines(profile),
        ]
    )


def _positions(profile: Profile) -> list[str]:
    """Returns a line with the first positions' acceptance rates, if the profile has them."""
    rates = profile.drafting().accepted_by_position
    if not rates:
        return []
    listed = " ".join(f"{rate.value:.2f}" for rate in rates[:SHOWN_POSITIONS])
    shown = min(len(rates), SHOWN_POSITIONS)
    return [f"accepts {listed} at positions 1 to {shown} of a block of {len(rates)}"]


def _milliseconds(profile: Profile, gamma: int) -> float:
    """Returns the time per token with drafts of gamma tokens."""
    cost = profile.cost
    assert cost is not None
    return 1e3 * cost.baseline_seconds / profile.improvement_factor[gamma].replay


def _replayed(factor: Improvement) -> str:
    return ranged(factor.replay, factor.low, factor.high)


def _by_batch(profile: Profile) -> list[str]:
    """Returns the best gamma at each timed batch size."""
    from estimator.profiles.best import best_by_batch

    best = best_by_batch(profile)
    if not best:
        return []
    context, longest = best[0].load.context, max(best[0].load.target_ms)
    columns: list[Column[BestAtBatch]] = [
        Column("batch", lambda each: str(each.load.batch)),
        Column("step ms", lambda each: shown(each.load.target_ms[1])),
        Column(f"pass of {longest}", lambda each: shown(max(each.load.target_ms.items())[1])),
        Column("draft ms", lambda each: shown(each.load.draft_ms)),
        Column("best K", lambda each: str(each.gamma) if each.gamma > 0 else "none"),
        Column("speed-up", lambda each: shown(each.speed_up)),
        Column(MS, lambda each: shown(each.ms_per_token)),
        Column(TOKENS, lambda each: shown(1e3 * each.load.batch / each.ms_per_token, ".1f")),
        Column("spread", lambda each: shown(each.load.spread_percent, ".0f", " %")),
    ]
    return ["", f"Context {context}:", table(best, columns), ""]


def _ran_on(setup: Setup) -> str:
    if setup.engine is not None:
        return f"{setup.engine} {setup.engine_version}"
    threads = "" if setup.threads is None else f", threads {setup.threads}"
    return f"{setup.device}, {setup.dtype}{threads}"


def _advice(profile: Profile) -> list[str]:
    """Returns the advised gamma and its certainty, as `specplan plan --profile` prints them."""
    from estimator.profiles.best import plan_of

    assert profile.cost is not None
    if profile.alpha.prompts == 1:
        return ["One prompt gives no interval, so no gamma is recommended: measure more prompts."]
    own = plan_of(profile, profile.cost)
    return [*decision_lines(own), *other_lines(profile, own)]


def other_lines(profile: Profile, own: Plan) -> list[str]:
    """Returns the plan of the other way of drafting; empty if the profile has one way only."""
    from estimator.profiles.best import plan_of

    way = other_way(profile.draft_sampling)
    if profile.cost is None or way not in profile.draftings:
        return []
    other = plan_of(profile, profile.cost, way)
    return [] if other.acceptance == own.acceptance else [other_line(other, way)]


def clock_lines(profile: Profile) -> list[str]:
    """Returns how reliable the times are: whether the machine was quiet."""
    clock = profile.clock
    apart, within = clock.noise_percent, clock.noise_within_percent
    if clock.doubts:
        return [f"In doubt: {'; '.join(clock.doubts)}. {TIMES_IN_DOUBT}"]
    if apart is None:
        known = clock.quiet is False
        return ["The machine was not quiet: trust none of these times, and measure again."] * known
    reach = apart if within is None else max(apart, within)
    if clock.quiet is False:
        from estimator.timing.rates import QUIET_PERCENT

        return [
            "The machine was not quiet: the baseline's speed may differ from itself by "
            f"{reach:.0f} % (at most {QUIET_PERCENT:.0f} % is quiet). Trust none of these times, "
            "and measure again."
        ]
    timings = "" if clock.repeats is None else f" ({clock.repeats} timings of each run)"
    level = percent(profile.alpha.level)
    reaching = "" if within is None else f", {level} of the time within {within:.1f} %"
    return [f"The baseline against itself: {apart:.1f} %{reaching}{timings}."]


def workload_lines(profile: Profile) -> list[str]:
    """Returns a table by category of prompts, numbers with their intervals over prompts."""
    gamma = profile.compared_gamma
    lines: list[str] = []
    for by, workloads in profile.workloads.items():
        lines += ["", f"At {GAMMA} {gamma}, by {by}:", _workload_table(by, workloads, gamma)]
    return lines


def _workload_table(by: str, workloads: Mapping[str, Workload], gamma: int) -> str:
    columns: list[Column[str]] = [
        Column(by, lambda name: name if len(name) <= _WIDEST else f"{name[: _WIDEST - 1]}…"),
        Column("n", lambda name: str(workloads[name].alpha.prompts)),
        Column("alpha", lambda name: _within(workloads[name].alpha, ".2f")),
        Column("tokens/call", lambda name: _within(workloads[name].tokens_per_call[gamma], ".1f")),
        Column("speed-up", lambda name: _within(workloads[name].improvement_factor[gamma], ".2f")),
        Column("best K", lambda name: str(workloads[name].optimal_gamma or "none")),
    ]
    return table(workloads, columns)


def _within(estimate: Estimate | Alpha, form: str) -> str:
    return ranged(estimate.value, estimate.low, estimate.high, form)


def texts_profile(profile: Profile) -> str:
    """Returns the readable form of a profile of recorded texts, which has no times."""
    alpha, setup = profile.alpha, profile.setup
    acceptance = profile.drafting().acceptance
    blocks = profile.drafting().blocks

    def drafted(gamma: int) -> float:
        row = blocks[gamma]
        return sum(count * length for length, count in enumerate(row)) / sum(row)

    def tokens(gamma: int) -> float:
        return float(acceptance.tokens_per_call(gamma))

    def accepted(gamma: int) -> str:
        return f"{(tokens(gamma) - 1) / drafted(gamma):.3f}" if drafted(gamma) > 0 else "-"

    columns: list[Column[int]] = [
        Column("gamma", str),
        Column("tokens per call", lambda gamma: f"{tokens(gamma):.3f}"),
        Column("drafted per call", lambda gamma: f"{drafted(gamma):.3f}"),
        Column("accepted of drafted", accepted),
    ]
    return "\n".join(
        [
            f"{setup.target}, draft {setup.draft}",
            f"alpha   {alpha.value:.4f}  {bounds(alpha.low, alpha.high, '.4f')} over "
            f"{alpha.tokens} tokens of {alpha.prompts} texts",
            "",
            table(blocks, columns),
        ]
    )
