"""Measures a pair: alpha from target-generated text, c and the cost curves from probes."""

import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from importlib.metadata import version

import numpy as np
import torch

from estimator.costs.under_load import load_times
from estimator.profiles.alphas import alpha_left_out, measured_alpha
from estimator.profiles.profile import (
    SCHEMA,
    VERSION,
    AlphaBin,
    Drafting,
    Estimate,
    IidCheck,
    Improvement,
    LeftOut,
    LoadCosts,
    Profile,
    Setup,
    TokensPerCall,
)
from estimator.profiles.speed_ups import priced, speed_ups
from estimator.profiles.workloads import by_category, by_context, workload
from estimator.prompts import prompts_hash
from estimator.runs.arms import AGAIN, BASELINE, Runs, Subject, probing, run_arms
from estimator.runs.rates import noise
from estimator.runs.repeats import probes, timed
from estimator.traces.measured_traces import LIBRARIES
from estimator.traces.scoring import LENIENCES, draft_sampling, verification_of
from estimator.traces.traces import (
    DRAFT_SAMPLINGS,
    Trace,
    TracePair,
    acceptance_by_rank,
    alpha,
    block_efficiency,
    lenient_alpha,
    replayed_blocks,
)
from reference.models.cached_model import CachedModel
from simulator.acceptance.iid import Iid
from simulator.acceptance.tokens import expected_tokens
from simulator.choice.gain import speed_up

POSITIONS_PER_BIN = 16
# Choices told apart: a tree's children are seldom more.
RANKS = 16


def measured_gammas(max_gamma: int) -> list[int]:
    """Returns the draft lengths that are timed: two an octave, and max_gamma."""
    octaves = [2**i for i in range(max_gamma.bit_length())]
    between = [3 * half for half in octaves if 3 * half <= max_gamma]
    return sorted({*octaves, *between, max_gamma})


def measure_costs(
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    *,
    max_gamma: int,
    repeats: int,
    precision: float = 0.0,
    seed: int,
    progress: Callable[[], object],
) -> Runs:
    """Returns the interleaved baseline and probe runs over draft lengths up to max_gamma.

    Args:
      repeats: how often each run is timed, at most.
      precision: per cent; repeats end once the noise reaches no further.
    """
    return run_arms(
        subject,
        prompts,
        probing(subject, measured_gammas(max_gamma)),
        repeats=repeats,
        seed=seed,
        progress=progress,
        enough=lambda runs: noise(timed(runs)).within_percent <= precision,
    )


def load_costs(
    target: CachedModel,
    draft: CachedModel,
    *,
    batch: int,
    context: int,
    max_gamma: int,
    repeats: int,
    progress: Callable[[], object],
) -> LoadCosts:
    """Returns what passes over a batch cost, at the draft lengths that a profile times.

    Args and progress as `estimator.costs.under_load.load_times`.
    """
    gammas = measured_gammas(max_gamma)
    times = load_times(
        target, draft, batch=batch, context=context, gammas=gammas, repeats=repeats,
        progress=progress,
    )   # fmt: skip
    longest = max(gammas)
    return LoadCosts(
        batch=batch,
        context=context,
        target_ms={n: 1e3 * seconds for n, seconds in sorted(times.target.items())},
        draft_ms=1e3 * times.drafting[longest] / longest,
        drafting_ms={gamma: 1e3 * seconds for gamma, seconds in times.drafting.items()},
        spread_percent=100 * times.spread,
    )


def make_profile(
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    pairs: Sequence[TracePair],
    runs: Runs,
    *,
    max_gamma: int,
    c_hat: float,
    setup: Setup,
    seed: int,
    categories: Sequence[str | None] | None = None,
    load: Sequence[LoadCosts] = (),
) -> Profile:
    """Returns the profile of what was measured.

    Args:
      subject, prompts: what was measured.
      pairs: traces of `measure_traces`; those of the draft's own sampling are reported.
      runs: of `measure_costs`.
      max_gamma: the largest gamma reported.
      c_hat: draft over target arithmetic operations per token.
      setup: models, dtype and sampling, as the caller names them; the rest is filled in.
      seed: of texts and order.
      categories: of each prompt, where any has one.
      load: costs by batch.
    """
    own = draft_sampling(subject.drafter)
    verification = verification_of(subject.rule)
    traces = [pair.under(own) for pair in pairs]
    judged = [trace.judged(verification, max_gamma) for trace in traces]
    texts = timed(runs)
    cost, clock = priced(texts), noise(texts)
    gammas = measured_gammas(max_gamma)
    gained = speed_ups(judged, texts, gammas)
    mean_alpha = alpha(traces)
    c_low, c_high = gained.c_interval
    prefill = {
        passes: 1e3 * float(np.median([text.prefill_seconds for text in rows]))
        for passes, rows in (("target", texts[AGAIN]), ("target_and_draft", probes(texts)))
    }
    draftings = {
        way: _drafting([pair.under(way) for pair in pairs], max_gamma)
        for way in DRAFT_SAMPLINGS
    }
    return Profile(
        schema=SCHEMA,
        version=VERSION,
        alpha=draftings[own].alpha,
        draft_sampling=own,
        draftings=draftings,
        verification=verification,
        alpha_by_position_in_text=_alpha_by_position(traces),
        by_category={
            name: workload(judged, texts, chosen, gammas=gammas)
            for name, chosen in by_category(categories or ()).items()
        },
        by_context={
            name: workload(judged, texts, chosen, gammas=gammas)
            for name, chosen in by_context([len(prompt) for prompt in prompts]).items()
        },
        c=Estimate(cost.c, c_low, c_high) if cost.observed_gamma is not None else None,
        c_hat=c_hat,
        target_ms={n: 1e3 * seconds for n, seconds in cost.target_seconds.items()},
        draft_ms=1e3 * cost.draft_seconds,
        drafting_ms={gamma: 1e3 * seconds for gamma, seconds in cost.draft_curve.items()},
        overhead_ms=1e3 * cost.overhead_seconds,
        baseline_overhead_ms=1e3 * cost.baseline_overhead_seconds,
        prefill_ms=prefill,
        iid_check=IidCheck(
            lag1_correlation_of_beta=_lag1_correlation(traces),
            block_efficiency={
                gamma: TokensPerCall(
                    replay=block_efficiency(judged, gamma),
                    iid=float(expected_tokens(mean_alpha, gamma)),
                )
                for gamma in range(1, max_gamma + 1)
            },
        ),
        optimal_gamma=gained.best,
        recommended_gamma=gained.recommended,
        improvement_factor={
            gamma: Improvement(
                replay=factor,
                iid=float(speed_up(Iid(mean_alpha), cost, gamma)),
                low=low,
                high=high,
            )
            for gamma, factor, (low, high) in zip(
                gained.gammas, gained.factors, gained.intervals, strict=True
            )
            if gamma > 0
        },
        noise_percent=clock.percent,
        noise_within_percent=clock.within_percent,
        quiet=clock.quiet,
        repeats=len(runs[BASELINE][0]),
        load=tuple(load),
        left_out=LeftOut(
            alpha=alpha_left_out(traces),
            c=gained.c_without if cost.observed_gamma is not None else (),
            improvement_factor={
                gamma: factors
                for gamma, factors in zip(gained.gammas, gained.factors_without, strict=True)
                if gamma > 0
            },
        ),
        setup=replace(
            setup,
            device=str(subject.target.device),
            threads=torch.get_num_threads(),
            python=platform.python_version(),
            platform=platform.platform(),
            libraries={name: version(name) for name in LIBRARIES},
            prompts_hash=prompts_hash(prompts),
            max_new_tokens=subject.stopping.max_new_tokens,
            max_gamma=max_gamma,
            seed=seed,
            date=date.today().isoformat(),
        ),
    )


def _drafting(traces: Sequence[Trace], max_gamma: int) -> Drafting:
    """Returns what the traces say of one way of drafting."""
    return Drafting(
        alpha=measured_alpha(traces),
        blocks=replayed_blocks(traces, max_gamma),
        blocks_jointly=replayed_blocks([t.judged("block", max_gamma) for t in traces], max_gamma),
        alpha_by_lenience={each: lenient_alpha(traces, each) for each in LENIENCES},
        acceptance_by_rank=acceptance_by_rank(traces, RANKS),
    )


def _alpha_by_position(traces: Sequence[Trace]) -> tuple[AlphaBin, ...]:
    """Returns the mean of beta in bins of positions, with how many tokens each holds."""
    longest = max(t.tokens for t in traces)
    bins = []
    for first in range(0, longest, POSITIONS_PER_BIN):
        values = np.concatenate([t.beta[first : first + POSITIONS_PER_BIN] for t in traces])
        bins.append(AlphaBin(first=first, alpha=float(values.mean()), tokens=len(values)))
    return tuple(bins)


def _lag1_correlation(traces: Sequence[Trace]) -> float | None:
    """Returns the correlation of beta with its successor; None where it never varies."""
    pairs = np.concatenate([np.stack([t.beta[:-1], t.beta[1:]]) for t in traces], axis=1)
    if pairs.shape[1] < 2 or (pairs.std(axis=1) == 0).any():
        return None
    return float(np.corrcoef(pairs)[0, 1])
