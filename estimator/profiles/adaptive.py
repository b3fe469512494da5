"""Adaptive verification of a profile's texts: its speed by batch, against fixed draft lengths."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimator.traces.traces import Trace, calibrated
from simulator.acceptance.stopping import ranking
from simulator.acceptance.stopping.ranking import BUDGETS, RankedTexts
from simulator.acceptance.stopping.stopped_text import COLUMNS
from simulator.choice.curve import first_best, speed_up
from simulator.choice.plan import Plan

# Draft lengths that are tried, and most batch sizes that are played.
TRIED, MOST_BATCHES = (1, 2, 3, 4, 5, 6, 8, 12, 16), 12
# Longer drafts are not tried once one reaches less than this share of the best speed.
_GIVES_UP = 0.95


class WaySpeed(NamedTuple):
    """The speed of one way to choose the drafted tokens that are verified, at its best γ.

    gamma, verified, tokens: tokens that a step drafts, verifies and emits per sequence.
    speed_up: speed-up over no speculation at this batch size.
    error: standard error of log(speed_up) due to a finite number of simulated steps.
    """

    gamma: int
    speed_up: float
    verified: float
    tokens: float
    error: float = 0.0


def ranked_texts(traces: Sequence[Trace]) -> RankedTexts:
    """Returns texts with the drafts' confidences, which are calibrated on other texts.

    traces: traces of argmax drafts, with the draft's continuation from every position of the text.
    """
    column, texts = COLUMNS["largest"], []
    for trace in calibrated(traces, column):
        assert trace.confidence is not None
        _, starts, certainty = trace.confidence
        if len(starts) < trace.tokens:
            raise ValueError(
                "`verification` adaptive needs the draft's own path from every block start, got "
                "paths from some: measure again with fewer `max_new_tokens`, or on a quiet machine"
            )
        longest = certainty.shape[1]
        survival = certainty[: trace.tokens, :, column].cumprod(axis=1)
        texts.append((trace.by_start(longest), survival, trace.replay.lengths(longest)))
    return RankedTexts(texts)


def adaptive_speeds(plans: Sequence[Plan], texts: RankedTexts) -> dict[int, Mapping[str, WaySpeed]]:
    """Returns, by batch size, the speed of each method of choosing which tokens are verified.

    "one K" verifies all drafted tokens, with the best draft length for all batch sizes together; "K
    by batch" uses each batch size's best length. "walk" and "previous step" verify the drafted
    tokens most likely to be accepted. The confidences of the current step ("walk") or of the
    previous step decide how many. "oracle" knows which tokens will be accepted.

    plans: one for each batch size.
    """
    some = _spread(plans)
    gammas = np.arange(1, len(some[0].curve.gamma) + 1)
    factors = np.array([speed_up(way.acceptance, way.cost, gammas) for way in some])
    factors[~np.array([way.allowed for way in some])] = 1e-9
    one = first_best(gammas, np.exp(np.log(factors).mean(axis=0)))
    return {
        plan.cost.setting.batch: {
            "one K": _fixed(plan, one, row),
            "K by batch": _fixed(plan, first_best(gammas, row), row),
            **{budget: _played(plan, texts, budget) for budget in BUDGETS},
            "oracle": _played(plan, texts, None),
        }
        for plan, row in zip(some, factors, strict=True)
    }


def ranked_steps(plans: Sequence[Plan], texts: RankedTexts) -> dict[int, tuple[float, float]]:
    """Returns, by batch size, the seconds of a step and the tokens that it emits per sequence.

    Only the likeliest drafted tokens are verified, as in vLLM, with each batch size's best γ.
    """
    steps = {}
    for plan in _spread(plans):
        way = _played(plan, texts, "previous step")
        seconds = way.tokens * plan.cost.baseline_seconds / way.speed_up
        steps[plan.cost.setting.batch] = seconds, way.tokens
    return steps


def _spread(plans: Sequence[Plan]) -> list[Plan]:
    """Returns at most MOST_BATCHES plans that fit in memory, evenly spaced in log batch size."""
    fitting = [plan for plan in plans if plan.setting.fits] or plans
    by_batch = {plan.cost.setting.batch: plan for plan in fitting}
    if len(by_batch) < len(fitting):
        raise ValueError("`verification` adaptive needs a single context")
    batches = np.array(sorted(by_batch))
    if len(batches) > MOST_BATCHES:
        wanted = np.geomspace(batches[0], batches[-1], MOST_BATCHES)
        batches = np.unique(batches[np.abs(batches[:, None] - wanted).argmin(axis=0)])
    return [by_batch[int(batch)] for batch in batches]


def _fixed(plan: Plan, gamma: int, factors: NDArray[np.float64]) -> WaySpeed:
    if gamma == 0:
        return WaySpeed(0, 1.0, 0.0, 1.0)
    tokens = float(plan.acceptance.tokens_per_call(gamma))
    drafted = float(plan.acceptance.drafted_per_token(gamma)) * tokens
    return WaySpeed(gamma, float(factors[gamma - 1]), drafted, tokens)


def _played(plan: Plan, texts: RankedTexts, budget: ranking.Budget | None) -> WaySpeed:
    """Returns the simulated speed at the best γ if only the likeliest drafted tokens are verified.

    budget: how their number is chosen, see `adaptive_speeds`; None: by the oracle.
    """
    cost, batch = plan.cost, plan.cost.setting.batch
    best = WaySpeed(0, 0.0, 0.0, 1.0)
    for gamma in TRIED:
        if gamma > min(len(plan.curve.gamma), texts.longest):
            break
        drafting = float(cost.drafting_seconds(gamma))
        seconds = ranking.step_seconds(cost, gamma, batch, plan.cost.setting.wall) + drafting
        generator = np.random.default_rng(0)
        played = texts.play(gamma, seconds, batch=batch, budget=budget, generator=generator)
        factor, tokens = cost.baseline_seconds / played.seconds_per_token, played.tokens_per_call
        if factor > best.speed_up:
            best = WaySpeed(gamma, factor, played.verified_per_call, tokens, played.error)
        elif factor < _GIVES_UP * best.speed_up:
            break
    return best
