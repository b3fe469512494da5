"""One plan as the text of `specplan plan`: assumptions, curve and advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan, nan
from typing import Any

import numpy as np

from simulator.acceptance.acceptance import Iid
from simulator.choice.curve import token_seconds
from simulator.choice.plan import Plan
from simulator.cost.c_by_sizes import expected_c, questions_c
from simulator.numerics.intervals import percent
from specplan.reports.advice import advice_lines, further_lines
from specplan.reports.basis import origin_text
from specplan.reports.deployment import graphs_line, load_notes
from specplan.reports.next_run import confirms
from specplan.reports.output import warn
from specplan.reports.table import (
    GAMMA,
    MS,
    TOKENS,
    Column,
    blocks_take_a_step,
    folded,
    possible,
    table,
)  # fmt: skip

# Number of rows shown after the best gamma, and least number of rows; --json has all rows.
_ROWS_PAST, _ROWS_LEAST = 3, 8
# A row's speed-up counts as the measured one if it differs by less than this share.
_AS_MEASURED = 0.005
MEASURED = "= measured; a number is the measured speed-up, where the row's differs from it"
IMPOSSIBLE = "?? impossible, and not used"
# Speculation is rarely slower than this many times the time without it.
SWAPPED = 2.5
BEYOND = "+ beyond the observed gamma: extrapolated"


def plan_text(plan: Plan) -> str:
    """Returns assumptions, curve and advice as text, with the numbers of `plan_json`."""
    curve, setting, load = plan.curve, plan.setting, plan.setting.load
    last = max(_ROWS_LEAST, plan.gamma, plan.optimal_gamma + _ROWS_PAST, plan.advice.named)
    points = require_possible(plan, {"curve": points_of(plan)})["curve"][:last]
    columns: list[Column[dict[str, Any]]] = [
        (GAMMA, "{gamma}"),
        ("tokens/call", "{expected_tokens:.2f}"),
        ("speed-up", "{improvement_factor:.2f}"),
    ]
    if curve.in_doubt:
        low, high = "{improvement_factor_low:.2f}", "{improvement_factor_high:.2f}"
        columns.append((percent(), f"{low} to {high}"))
    if plan.cost.in_seconds:
        columns += [(MS, "{ms_per_token:.2f}"), (TOKENS, "{tokens_per_second:.1f}")]
    if not curve.in_doubt:
        columns.append(("operations", "{operations_factor:.2f}"))
    lines = [
        f"How many tokens to draft (K), from {origin_text(plan)}.",
        _assumptions(plan),
        *([] if load is None else load_notes(plan, load)),
        *notes_of(plan),
        "",
        table(
            points,
            columns,
            best=lambda point: point["gamma"] == plan.optimal_gamma,
            note=lambda point: _note(plan, point),
        ),
        *([BEYOND] if curve.extrapolated[:last].any() else []),
        *([MEASURED] if not np.isnan(curve.ran[:last]).all() else []),
        *([IMPOSSIBLE] if curve.impossible[:last].any() else []),
        *([graphs_line(setting.wall)] if setting.wall and curve.beyond_graphs[:last].any() else []),
        *([f"(--json has all up to {len(curve.gamma)})"] if last < len(curve.gamma) else []),
        "",
        *advice_lines(plan),
        *further_lines(plan),
    ]
    other = plan.other
    if other is not None and (way := other.acceptance.source.draft_sampling) is not None:
        from specplan.reports.profile import drawn_by, other_line

        if other.advised_gamma == plan.advised_gamma:
            lines.append(other_line(other, way))
        else:
            lines += ["", f"{drawn_by(way)}:", plan_text(other)]
    return folded("\n".join(lines))


def _assumptions(plan: Plan) -> str:
    cost, kind, origin = plan.cost, plan.acceptance.kind, plan.acceptance.source
    source = {"replay": f" (replayed: {origin.sampling})"}.get(kind, "")
    if origin.counted:
        taken = {"iid": ", taken as"}.get(kind, " if")
        source = f" (from counts{taken} i.i.d.)"
    verification = "free" if cost.verification_free else "at its own cost"
    operations = "" if plan.c_hat_is_c else f", c_hat {plan.c_hat:.4g}"
    alpha = f"alpha {plan.alpha:.4g}{source}"
    return f"{alpha}, c {cost.c:.4g}, verification {verification}{operations}"


def notes_of(plan: Plan) -> tuple[str, ...]:
    """Returns the notes of the acceptance and of the plan."""
    notes = (*plan.acceptance.source.notes, *plan.notes)
    if plan.setting.zero is None:
        return notes
    from specplan.reports.zero import zero_note

    return (*notes, *filter(None, [zero_note(plan)]))


def _note(plan: Plan, point: dict[str, Any]) -> str:
    """Returns a row's marks: extrapolated (+), beyond captured graphs (!), advised, to measure."""
    gamma, notes = point["gamma"], ["+"] * point["extrapolated"] + ["!"] * point["beyond_graphs"]
    ran = plan.curve.ran[gamma - 1] if gamma <= len(plan.curve.ran) else nan
    if not isnan(ran):
        same = abs(ran / point["improvement_factor"] - 1) < _AS_MEASURED
        impossible = plan.curve.impossible[gamma - 1]
        notes.append("=" if same and not impossible else f"={ran:.2f}{'??' * bool(impossible)}")
    advised = plan.advised_gamma if plan.kept is None and plan.setting.fits else None
    if gamma == advised != plan.optimal_gamma:
        notes.append("<- run next" if confirms(plan) else "<- advised")
    if gamma == plan.advice.test_gamma and plan.setting.fits:
        notes.append("<- measure")
    return " ".join(notes)


def speeds(plan: Plan, factor: Any) -> dict[str, Any]:
    """Returns the time per token and the speeds that follow from a speed-up, by their JSON keys.

    All are computed from the baseline's median time, so that they fit each other in each row. Empty
    if the costs have no seconds. factor: one speed-up or an array of them.
    """
    if not plan.cost.in_seconds:
        return {}
    seconds = plan.curve.baseline / factor
    return {
        "ms_per_token": 1e3 * seconds,
        "tokens_per_second": plan.setting.batch / seconds,
        "tokens_per_second_per_sequence": 1 / seconds,
    }


def points_of(plan: Plan) -> list[dict[str, Any]]:
    """Returns a JSON object for each gamma, which is also a row of the printed table."""
    curve = plan.curve
    names = ["gamma", "expected_tokens", "improvement_factor", "operations_factor", "extrapolated"]
    columns = {name: getattr(curve, name).tolist() for name in [*names, "beyond_graphs"]}
    columns |= {
        name: values.tolist() for name, values in speeds(plan, curve.improvement_factor).items()
    }
    columns["gain_probability"] = [None] * len(curve.gamma)
    if curve.in_doubt:
        columns["gain_probability"] = curve.gains.exceeds(1.0).tolist()
        columns["improvement_factor_low"] = curve.low.tolist()
        columns["improvement_factor_high"] = curve.high.tolist()
        posterior, point = plan.cost.posterior, plan.cost.point
        if posterior is not None and point is not None:
            modelled = posterior.modelled(point, curve.gamma.tolist()) + curve.log_lengths
            law = token_seconds(plan.acceptance, plan.cost, curve.gamma)
            low, _, high = (1e3 * seconds for seconds in law.interval())
            columns |= {
                "ms_per_token_low": low.tolist(),
                "ms_per_token_high": high.tolist(),
                "measured": curve.measured.tolist(),
                "impossible": curve.impossible.tolist(),
                "measured_improvement_factor": [
                    None if isnan(x) else x for x in curve.ran.tolist()
                ],
                "modelled": np.exp(modelled).tolist(),
            }
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def require_possible(plan: Plan, data: Mapping[str, Any]) -> dict[str, Any]:
    """Returns `data`, numbers of a plan; raises ArithmeticError if one is impossible."""
    gammas, posterior = plan.curve.gamma, plan.cost.posterior
    if posterior is not None:
        from simulator.cost.fitted.contradictions import contradictions

        if contradictions(posterior.runs):
            return dict(data)  # a note names the runs in conflict
    _, doubt = plan.acceptance.log_lengths(gammas)
    predicted = posterior is not None and not posterior.runs and not doubt.any()
    bounded = blocks_take_a_step(plan.cost, len(gammas))
    return possible(data, bounded=bounded, ends=predicted)


def warn_of_plans(rows: Sequence[Plan], *, max_gamma: int) -> None:
    """Prints warnings if --max-gamma limits the result, or if times are unreliable."""
    bound = sum(row.cap_binds for row in rows)
    if bound > 0:
        where = "" if len(rows) == 1 else f" in {bound} of {len(rows)} rows"
        warn(f"the best gamma is limited by --max-gamma {max_gamma}{where}: a longer draft gains")
    warn_of_sizes(rows)
    _warn_of_swaps(rows[0])
    if rows[0].acceptance.source.quiet is False:
        warn("the profile was measured while the machine was not quiet; measure it again")


def _warn_of_swaps(plan: Plan) -> None:
    """Prints a warning if a measured draft, or alpha and c, look as if two numbers were swapped."""
    before = [run for run in plan.cost.own_runs if run.gamma == 0]
    for run in plan.cost.own_runs:
        slower = run.gamma > 0 and [
            run.seconds_per_token / other.seconds_per_token
            for other in before
            if other.load == run.load and run.seconds_per_token > SWAPPED * other.seconds_per_token
        ]
        if slower:
            warn(
                f"a token takes {max(slower):.1f} times as long with K = {run.gamma} as without "
                "speculation: are the two runs swapped?"
            )
    cost, alpha = plan.cost, plan.alpha
    if isinstance(plan.acceptance, Iid) and cost.theorem8 and cost.c > 0.5 > 0.25 >= alpha > 0:
        warn(
            f"alpha {alpha:g} and c {cost.c:g} look swapped: alpha is the share of accepted "
            "tokens, c the time of a draft step over a target step"
        )


def warn_of_sizes(rows: Sequence[Plan]) -> None:
    """Prints a warning if c contradicts the sizes of draft and target."""
    cost = next((row.cost for row in rows if questions_c(row.cost)), None)
    if cost is not None and (ends := expected_c(cost)) is not None:
        low, high = ends
        share = 100 * (cost.setting.draft_share or 0)
        warn(
            f"c {cost.c:.2g} does not fit the models' sizes: a draft with {share:.2g} % of the "
            f"target's weights takes {low:.2g} to {high:.2g} of a target step. Check c, or the "
            "tokens per call and the times that it follows from"
        )
