"""A profile measured on an engine: acceptance along the target's own texts, prices of its steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engines.counting.counts import NOTHING
from engines.engine import Engine, Setting
from engines.observing.observation import Observation
from engines.scores.text_scores import acceptance
from engines.trials.runs import run
from engines.trials.scoring import Pair, Scorer
from engines.trials.timing import block_seconds, timed_steps
from engines.trials.trial import Measured, Trial
from engines.trials.validation import measure
from estimator.profiles.alphas import measured_alpha
from estimator.profiles.drafting import Alpha, Drafting, Estimate
from estimator.profiles.profile import SCHEMA, VERSION, Improvement, Profile, Setup
from estimator.traces.traces import (
    DRAFT_SAMPLINGS,
    DraftSampling,
    Trace,
    TracePair,
    replayed_blocks,
)
from simulator.acceptance.iid import Iid
from simulator.choice.gain import best_gamma, speed_up
from simulator.cost.curves import CostModel


@dataclass(frozen=True, slots=True)
class Profiled:
    """A profile, and what it rests on.

    version: of the engine.
    pairs: traces of both ways of drafting, a text each; empty where the engine counted acceptance.
    line_error: how far a line through the outer γ is off at the third; None without it.
    """

    version: str
    pairs: tuple[TracePair, ...]
    draftings: dict[DraftSampling, Drafting]
    cost: CostModel
    line_error: float | None


def profile_on_engine(
    engine: Engine,
    trial: Trial,
    *,
    score: Scorer | None,
    max_gamma: int,
    progress: Callable[[], object],
) -> Profiled:
    """Returns what an engine's own runs say of a pair.

    Args:
      engine: serves the pair.
      trial: of one temperature and concurrency, with no rows of its own; without priced γ the draft
        is priced by serving it alone, verification free.
      score: scores the target's texts by both models; None: the engine's counters at the largest
        priced γ tell acceptance.
      max_gamma: the largest γ to replay.
      progress: called after each text.

    Raises:
      ValueError: if the engine does not start, or refuses what is asked of it.
    """
    measured = measure(engine, trial, progress=progress)
    [case] = trial.cases
    line_error, timed = None, timed_steps(trial, measured, case)
    if trial.priced_gammas:
        steps = timed.steps(trial.priced_gammas)
        cost, line_error = steps.cost, steps.line_error
    else:
        alone = timed.levels["priced", 0]
        cost = CostModel({1: alone}, draft_seconds=_draft_alone(engine, trial, progress))
    if score is None:
        return Profiled(
            measured.version, (), {trial.draft_sampling: _counted(trial, measured)}, cost,
            line_error,
        )  # fmt: skip
    texts = [
        (prompt, text.tokens)
        for prompt, text in zip(
            trial.prompts, measured.rows[0, case][0].completions, strict=True
        )
    ]
    pairs = traces(score(texts, case[0]), temperature=case[0])
    draftings = {way: _drafting([pair.under(way) for pair in pairs], max_gamma)
                 for way in DRAFT_SAMPLINGS}
    return Profiled(measured.version, pairs, draftings, cost, line_error)


def traces(scores: Sequence[Pair], *, temperature: float) -> tuple[TracePair, ...]:
    """Returns the traces of texts that the target wrote at a temperature.

    β at a position is Σ min(p, q), of which two log-probabilities tell no more than a_t; its mean
    over the target's own texts is α all the same.
    """

    def one(pair: Pair, way: DraftSampling) -> Trace:
        chances = acceptance(*pair, draft_sampling=way, temperature=temperature)
        return Trace(beta=chances, ratio=chances, drafted=None, limit=len(chances))

    return tuple(TracePair(*(one(pair, way) for way in DRAFT_SAMPLINGS)) for pair in scores)


def engine_profile(
    profiled: Profiled,
    *,
    draft_sampling: DraftSampling,
    max_gamma: int,
    repeats: int,
    setup: Setup,
) -> Profile:
    """Returns the profile that `plan` reads.

    Args:
      profiled: of `profile_on_engine`.
      draft_sampling: how the engine drafts.
      max_gamma: the largest γ that is reported, where prices reach so far.
      repeats: how often each text was timed.
      setup: what was run, as the caller names it.
    """
    cost, drafting = profiled.cost, profiled.draftings[draft_sampling]
    alpha = drafting.alpha
    priced = cost.observed_gamma
    longest = max_gamma if priced is None else min(max_gamma, priced)
    gammas = range(1, longest + 1)
    return Profile(
        schema=SCHEMA,
        version=VERSION,
        alpha=alpha,
        draft_sampling=draft_sampling,
        draftings=profiled.draftings,
        setup=setup,
        target_ms={n: 1e3 * seconds for n, seconds in cost.target_seconds.items()},
        draft_ms=1e3 * cost.draft_seconds,
        c=Estimate(cost.c),
        optimal_gamma=best_gamma(drafting.acceptance, cost, max_gamma=longest),
        improvement_factor={
            gamma: Improvement(
                replay=float(speed_up(drafting.acceptance, cost, gamma)),
                iid=float(speed_up(Iid(alpha.value), cost, gamma)),
            )
            for gamma in gammas
        },
        repeats=repeats,
    )


def _drafting(own: Sequence[Trace], max_gamma: int) -> Drafting:
    return Drafting(measured_alpha(own), blocks=replayed_blocks(own, max_gamma))


def _counted(trial: Trial, measured: Measured) -> Drafting:
    """Returns the acceptance that the engine counted at the largest priced γ."""
    gamma = trial.priced_gammas[-1]
    [case] = trial.cases
    total = sum((one.total for one in measured.priced[gamma, case]), NOTHING)
    found = Observation(
        trial.kind.name,
        "metrics",
        gamma,
        total.drafts,
        total.drafted,
        total.accepted_tokens,
        total.accepted,
    )
    alpha = found.alpha_iid
    return Drafting(
        Alpha(
            alpha.value,
            alpha.low,
            alpha.high,
            confidence=0.95,
            tokens=sum(one.decoded for one in measured.priced[gamma, case]),
            prompts=len(trial.other_prompts),
        ),
        accepted_by_position=tuple(
            Estimate(rate.value, rate.low, rate.high) for rate in found.unconditional
        ),
        cut_short=found.cut_short,
    )


def _draft_alone(engine: Engine, trial: Trial, progress: Callable[[], object]) -> float:
    """Returns the seconds of a token of the draft, served alone, on the priced prompts."""
    [(temperature, concurrency)] = trial.cases
    with engine.serve(Setting(0, model="draft")) as server:
        own = run(
            server,
            trial.other_prompts,
            speculative=False,
            max_new_tokens=trial.max_new_tokens,
            temperature=temperature,
            concurrency=concurrency,
            seed=trial.seed,
            progress=progress,
        )
    return float(np.nanmedian(block_seconds(trial.kind, [own])))
