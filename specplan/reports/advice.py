"""The advice of a plan as text: the draft length, its odds and limits, and the next run."""

from typing import Any

from simulator.acceptance.acceptance import Iid, iid_error
from simulator.choice.curve import baseline_seconds, curve_of, speed_up
from simulator.choice.odds import certainty, gain_text, percentage
from simulator.choice.plan import Plan
from simulator.cost.c_by_sizes import assumed_c
from simulator.cost.fitted.runs import pooled
from specplan.reports.deployment import does_not_fit
from specplan.reports.next_run import NOT_CALIBRATED, confirms, next_lines, runs_named, wide_lines
from specplan.reports.slower import slower_text

# The advice also states the odds of a gain if the acceptance rate is lower by this amount.
_SHORT = 0.1
# Speed-ups count as equal if their relative difference is smaller.
_SAME = 0.05


def advice_lines(plan: Plan) -> list[str]:
    """Returns the advice in one sentence, then its odds, its limits, and the next run."""
    if not plan.setting.fits:
        return [does_not_fit(plan.setting)]
    cost, named, assumed = plan.cost, plan.advice.named, []
    if (ends := assumed_c(cost)) is not None:
        c, (low, high) = cost.c, ends
        assumed = [f"c {c:.2g} is assumed ({low:.2g} to {high:.2g}): no run with drafts was timed."]
    if plan.kept is not None:
        from specplan.reports.kept import kept_lines

        following = next_lines(plan)[: plan.kept.gain is None]
        return [*kept_lines(plan, plan.kept), *assumed, *following]
    lines = [*decision_lines(plan), *wide_lines([plan]), *assumed]
    lines += [*filter(None, [slower_text(plan)]), *_limits(plan)]
    if plan.gamma not in (0, plan.optimal_gamma, named):
        lines.append(f"K = {plan.gamma} gives {_gain(plan, plan.gamma)}.")
    lines += [
        f"Drafts of the run at K = {run.gamma} ended early: {run.drafted:.1f} tokens on average, "
        f"{1e3 * run.seconds_per_token:.2f} ms a token. This plan drafts all K tokens, and more of "
        f"them are rejected. If a p-min ended them, run K = {named or plan.gamma} "
        "without p-min before you change K."
        for run in cost.own_runs
        if run.drafted is not None
    ]
    return [*lines, *next_lines(plan)]


def advice_json(plan: Plan) -> dict[str, Any]:
    sentence, *sure = advice_lines(plan)
    return {"sentence": sentence, "sure": sure, "further": further_lines(plan)}


def further_lines(plan: Plan) -> list[str]:
    """Returns the speeds, the error of equal acceptances, and where no K gains."""
    if plan.kept is not None or not plan.setting.fits:
        return []
    iid = _iid(plan) if plan.cost.posterior is None else []
    return [*_speed(plan), *iid, break_even_text(plan)]


def odds_text(plan: Plan) -> str:
    """Returns the probability of a gain in words.

    An acceptance that the user stated may be too high: the text also has the probability at 0.1
    below it.
    """
    probability = plan.advice.gain_probability
    assert probability is not None
    words, lower = certainty(probability), plan.alpha - _SHORT
    # An acceptance that was never observed is stated by the user.
    unseen = plan.acceptance.observed_gamma is None and plan.cost.posterior is not None
    if not unseen or lower < 0 or words == "a loss is likelier":
        return gain_text(probability)
    at = plan.curve.gamma[[plan.advice.named - 1]]
    worse = curve_of(Iid(lower), plan.cost, at, c_hat=plan.c_hat).gains.exceeds(1.0)[0]
    return (
        f"A gain over no speculation is {words}: {percentage(probability)} if acceptance is "
        f"{plan.alpha:.2g}; {percentage(worse)} at {lower:.2g}."
    )


def decision_lines(plan: Plan) -> list[str]:
    """Returns the advised draft length and the probability of a gain."""
    advice, share = plan.advice, f"{100 * plan.near:g} %"
    named, best, gain = advice.named, advice.best, _gain(plan, advice.named)
    doubt = [odds_text(plan)] if plan.curve.in_doubt and named > 0 else []
    if plan.fastest_run is not None:
        from specplan.reports.kept import confirm_text

        unsure = [NOT_CALIBRATED] * advice.undecided
        return [confirm_text(plan, plan.fastest_run), *doubt, *unsure]
    if advice.undecided:
        chance = percentage(advice.gain_probability or 0.0)
        first = f"Undecided ({chance} for a gain): measure {runs_named([0, named])} first."
        return [f"{first} K = {named} may give {gain}.", NOT_CALIBRATED]
    if advice.gamma > 0:
        drafted = f"Draft {named} token{'s' * (named > 1)} per block (K = {named})"
        if advice.measured:
            return [f"{drafted}: {gain}, {_measured(plan)}.", *doubt]
        near, factor = "", plan.point(best).improvement_factor
        if best not in (0, advice.gamma):
            near = f", the smallest K within {share} of the best, K = {best} ({factor:.2f} times)"
        return [f"{drafted}: {gain}{near}.", *doubt, *_tolerance(plan)]
    if named == 0:
        return ["Do not speculate: no K is possible here."]
    if plan.optimal_gamma == 0:
        return [f"Do not speculate: the best, K = {named}, gives {gain}.", *doubt]
    worth = f"Not worth a draft: K = {named} gives {gain}, within {share} of no speculation."
    return [worth, *doubt]


def _gain(plan: Plan, gamma: int) -> str:
    """Returns the speed-up at gamma as text, with its interval if it is uncertain."""
    point = plan.point(gamma)
    factor = f"{point.improvement_factor:.2f} times the speed without speculation"
    return f"{factor} ({point.low:.2f} to {point.high:.2f})" if plan.curve.in_doubt else factor


def _measured(plan: Plan) -> str:
    """Returns that the advised γ was run, with its speed-up if the runs' fit prints another."""
    if plan.setting.load is not None and plan.setting.load.estimated:
        return "as runs of this K gained at other batches"
    gamma = plan.advice.named
    ran, factor = plan.curve.ran[gamma - 1], plan.point(gamma).improvement_factor
    apart = f"{ran:.2f}" not in ("nan", f"{factor:.2f}")
    return "fitted through all runs; " * apart + "measured" + f": {ran:.2f}" * apart


def _tolerance(plan: Plan) -> list[str]:
    """Returns a sentence with the γ around the best that are at most 2 % slower; [] if none are."""
    near = plan.within(0.02) - {0}
    first = last = plan.advice.best
    while first - 1 in near:
        first -= 1
    while last + 1 in near:
        last += 1
    return [] if first == last else [f"K = {first} to {last} come within 2 % of the best."]


def _limits(plan: Plan) -> list[str]:
    """Returns reasons against a longer draft: few observations, or captured graphs."""
    timed, best, named = plan.setting.timed, plan.optimal_gamma, plan.advice.named
    batch, wall, lines = plan.setting.batch, plan.setting.wall, []
    if timed and best not in timed and named not in plan.within(plan.near):
        factor = plan.point(best).improvement_factor
        lines.append(
            f"K = {best} ({factor:.2f} times) was not timed, and only timed K are advised: "
            f"'specplan validate --gamma {best}' measures it."
        )
    if plan.curve.impossible.any() and plan.advice.gamma > 0 and not plan.advice.measured:
        lines.append(f"Do the impossible run again, then run K = {named} to confirm it.")
    if plan.most_gamma is not None and named > 0 and not plan.advice.measured:
        again = f": run K = {named}, then look again" * (plan.fastest_run is None)
        lines.append(
            f"No position beyond {plan.acceptance.observed_gamma} was observed, so at most "
            f"K = {plan.most_gamma} is advised{again}."
        )
    elif plan.fastest_run is None and (confirms(plan) or plan.extrapolated_at(plan.advice.gamma)):
        unseen = "run" if confirms(plan) else "observed"
        lines.append(f"K = {named} was not {unseen}: confirm it by running it.")
    if wall is None:
        return lines
    crossed = plan.curve.gamma[wall.crossed(batch, plan.curve.gamma)]
    if wall.beyond(batch, 0):
        lines.append(
            f"Even the baseline's step of {wall.size(batch, 0)} {wall.unit} is larger than the "
            f"captured graphs ({wall.most}): prices here are not known well. {wall.flag} moves "
            "the limit."
        )
    elif len(crossed) > 0 and crossed[0] <= max(plan.advice.best + 1, 8):
        lines.append(
            f"K = {crossed[0]} would need {wall.size(batch, crossed[0])} {wall.unit} a step, "
            f"and graphs are captured up to {wall.most}: it can be far slower, and is not "
            f"advised. {wall.flag} moves the limit."
        )
    return lines


def _speed(plan: Plan) -> list[str]:
    """Returns the tokens per second at the advised γ and without speculation."""
    baseline, named, lines = plan.baseline_tokens_per_second, plan.advice.named, []
    if baseline is None:
        return []
    if named > 0:
        speed = f"{baseline * plan.point(named).improvement_factor:.1f} at K = {named}"
        lines.append(f"Tokens per second: {speed}, {baseline:.1f} without speculation.")
    if plan.cost.posterior is not None:
        low, middle, high = (1e3 * seconds[0] for seconds in baseline_seconds(plan.cost).interval())
        none = [run for run in pooled(plan.cost.own_runs) if run.gamma == 0 and not run.speculating]
        measured = ", ".join(f"{1e3 * run.seconds_per_token:.2f}" for run in none)
        fitted = f", fitted through all runs; measured: {measured}"
        fitted *= measured not in ("", f"{middle:.2f}")
        lines.append(
            f"Without speculation a token takes {middle:.2f} ms ({low:.2f} to {high:.2f}{fitted}). "
            f"Runs: {len(plan.cost.posterior.runs)}."
        )
    return lines


def _iid(plan: Plan) -> list[str]:
    """Returns a sentence with the speed-up if all draft positions had the same acceptance rate."""
    gamma, observed = plan.advice.named, plan.acceptance.observed_gamma
    most = len(plan.curve.gamma) if observed is None else min(observed, len(plan.curve.gamma))
    worst = iid_error(plan.acceptance, max_gamma=most)
    if worst is None or gamma == 0:
        return []
    (error, at), even = worst, float(speed_up(Iid(plan.alpha), plan.cost, gamma))
    would = f"If all positions were accepted equally, K = {gamma} would give {even:.2f}"
    if abs(error) > _SAME:
        return [
            f"{would}: {100 * abs(error):.0f} % too {'many' if error > 0 else 'few'} tokens per "
            f"call at K = {at}. Positions are not accepted equally, and the plan counts that."
        ]
    if abs(even / plan.point(gamma).improvement_factor - 1) <= _SAME:
        return [f"{would}: the choice does not change."]
    return [f"{would}: as many tokens per call, but every block would draft all it may."]


def break_even_text(plan: Plan, at: str = "") -> str:
    """Returns the acceptance and the draft step at which no K gains; at: " at batch 8" or ""."""
    alpha, c = plan.break_evens
    costs = "at this c" if plan.tokens_per_second is None else "at these costs"
    least = f"{f'acceptance {alpha:.2g}' if alpha else 'any acceptance'} {costs}"
    if alpha in (None, 1):
        least = f"{costs} not even a perfect draft gains"
    step = f", or a draft step of {100 * c:.3g} % of a target step" if c else ""
    if alpha in (None, 1) and c:
        step = f". At this acceptance a draft step may take {100 * c:.3g} % of a target step"
    return f"Break-even{at}: {least}{step}."
