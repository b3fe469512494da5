"""A profile as a reader sees it: alpha, c, prices, and what each gamma gains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specplan.reports.output import bounds, table
from specplan.reports.workloads import workload_lines

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile, Setup


def profile_text(profile: Profile) -> str:
    """Returns the readable form of a profile."""
    alpha, c, setup = profile.alpha, profile.c, profile.setup
    rows = [
        [
            str(gamma),
            # A drafter that never proposed so much was not timed at it.
            f"{profile.target_ms[gamma + 1]:.2f}" if gamma + 1 in profile.target_ms else "-",
            f"{factor.replay:.2f} {bounds(factor.low, factor.high, digits=2)}",
            f"{factor.iid:.2f}",
        ]
        for gamma, factor in profile.improvement_factor.items()
    ]
    best = profile.optimal_gamma
    marked = [row for row, gamma in enumerate(profile.improvement_factor) if gamma == best]
    step = "-" if c is None else f"{c.value:.4f}  {bounds(c.low, c.high, digits=4)}"
    operations = "-" if profile.c_hat is None else f"{profile.c_hat:.4f}"
    return "\n".join(
        [
            f"target {setup.target}, draft {setup.draft}, {_ran_on(setup)}",
            f"alpha   {alpha.value:.4f}  {bounds(alpha.low, alpha.high, digits=4)} over "
            f"{alpha.tokens} tokens of {alpha.prompts} prompts",
            f"c       {step}; c_hat {operations}",
            f"ms      target step {profile.target_ms[1]:.3f}, draft step "
            f"{profile.draft_ms:.3f}, per block besides {profile.overhead_ms:.3f}, "
            f"baseline besides {profile.baseline_overhead_ms:.3f}",
            "",
            table(
                rows,
                header=["gamma", "verify ms", "speed-up (replay)", "(i.i.d.)"],
                marked=marked,
            ),
            *workload_lines(profile),
            "",
            f"Best: gamma {best}." if marked else "Best: do not speculate.",
            *_by_batch(profile),
            *_doubt(profile),
        ]
    )


def _by_batch(profile: Profile) -> list[str]:
    """Returns the best gamma at each batch size that was timed."""
    from simulator.choice.gain import best_gamma, speed_up

    acceptance = profile.drafting().acceptance
    rows = []
    for load in profile.load:
        cost = profile.cost_of(load)
        best = best_gamma(acceptance, cost, max_gamma=max(load.drafting_ms))
        rows.append(
            [
                str(load.batch),
                f"{load.target_ms[1]:.2f}",
                f"{load.target_ms[max(load.target_ms)]:.2f}",
                f"{load.draft_ms:.2f}",
                str(best) if best > 0 else "none",
                f"{float(speed_up(acceptance, cost, best)):.2f}",
                f"{load.spread_percent:.0f} %",
            ]
        )
    if not rows:
        return []
    longest = max(profile.load[0].target_ms)
    header = ["batch", "step ms", f"pass of {longest}", "draft ms", "best", "speed-up", "spread"]
    return ["", f"Context {profile.load[0].context}:", table(rows, header=header), ""]


def _ran_on(setup: Setup) -> str:
    if setup.engine is not None:
        return f"{setup.engine} {setup.engine_version}"
    return f"{setup.device}, {setup.dtype}"


def _doubt(profile: Profile) -> list[str]:
    """Returns what the data does not carry: the rest of the recommendation."""
    lines = []
    recommended = profile.recommended_gamma
    if recommended is not None and recommended != profile.optimal_gamma:
        cautious = "not to speculate" if recommended == 0 else f"gamma {recommended}"
        lines.append(f"Not significantly worse, over these prompts: {cautious}.")
    if profile.noise_percent is not None:
        lines.append(
            f"The baseline against itself: {profile.noise_percent:.1f} % "
            f"({profile.repeats} timings of each run)."
        )
    if profile.quiet is False:
        lines.append("The machine was not quiet: trust none of these times, and measure anew.")
    return lines
