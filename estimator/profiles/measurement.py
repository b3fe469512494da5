"""Measures a pair: alpha from target-generated text, c and the cost curves from probes."""

import platform
from collections.abc import Callable, Sequence
from datetime import date
from importlib.metadata import version
from typing import Any

import numpy as np
import torch

from estimator.costs.blocks import fit_costs
from estimator.intervals import CONFIDENCE, interval, ratio_interval, resampled_prompts
from estimator.prompts import prompts_hash
from estimator.runs.arms import AGAIN, Runs, Subject, of_prompts, probe_runs, run_arms
from estimator.traces.ahead import replay_factor
from estimator.traces.measured_traces import LIBRARIES
from estimator.traces.scoring import LENIENCES, draft_sampling
from estimator.traces.traces import (
    DRAFT_SAMPLINGS,
    Trace,
    TracePair,
    alpha,
    block_efficiency,
    lenient_alpha,
)
from simulator.acceptance.tokens import expected_tokens
from simulator.choice.calibrated import calibrated_factor
from simulator.cost.curves import CostModel

COST_REPLICATES = 200
POSITIONS_PER_BIN = 16


def measure_costs(
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    *,
    max_gamma: int,
    repeats: int,
    seed: int,
    progress: Callable[[], object],
) -> Runs:
    """Returns the interleaved baseline and probe runs over draft lengths 1..max_gamma."""
    return run_arms(
        subject,
        prompts,
        {},
        probe_gammas=range(1, max_gamma + 1),
        repeats=repeats,
        seed=seed,
        progress=progress,
    )


def profile_data(
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    pairs: Sequence[TracePair],
    runs: Runs,
    *,
    max_gamma: int,
    c_hat: float,
    setup: dict[str, Any],
    seed: int,
) -> dict[str, Any]:
    """Returns the contents of a profile.

    Args:
      subject, prompts: what was measured.
      pairs: traces of `measure_traces`; those of the draft's own sampling are reported.
      runs: of `measure_costs`.
      max_gamma: the largest gamma reported.
      c_hat: draft over target arithmetic operations per token.
      setup: models, device and the like, as the caller names them.
      seed: of the bootstrap.
    """
    generator = np.random.default_rng((seed, 3))
    own = draft_sampling(subject.drafter)
    traces = [pair.under(own) for pair in pairs]

    def fitted(chosen: Sequence[int]) -> CostModel:
        of_chosen = of_prompts(runs, chosen)
        return fit_costs(of_chosen[AGAIN], probe_runs(of_chosen))

    everyone = range(len(prompts))
    cost = fitted(everyone)
    replicates = resampled_prompts(len(prompts), generator)[:COST_REPLICATES]
    c_low, c_high = interval(
        np.array([fitted(chosen.tolist()).c for chosen in replicates]), prompts=len(prompts)
    )
    alpha_low, alpha_high = ratio_interval(
        [float(t.beta.sum()) for t in traces], [t.tokens for t in traces], generator
    )
    mean_alpha = alpha(traces)
    gammas = range(1, max_gamma + 1)
    replayed = {gamma: replay_factor(traces, gamma, cost) for gamma in gammas}
    best = max(gammas, key=lambda gamma: replayed[gamma])
    prefill = {
        passes: 1e3 * float(np.median([run.prefill_seconds for row in rows for run in row]))
        for passes, rows in (("target", runs[AGAIN]), ("target_and_draft", probe_runs(runs)))
    }
    return {
        "alpha": {
            "value": mean_alpha,
            "low": alpha_low,
            "high": alpha_high,
            "confidence": CONFIDENCE,
            "tokens": sum(t.tokens for t in traces),
            "prompts": len(traces),
        },
        "draft_sampling": own,
        "alpha_by_draft_sampling": {
            way: alpha([pair.under(way) for pair in pairs]) for way in DRAFT_SAMPLINGS
        },
        "alpha_by_position_in_text": _alpha_by_position(traces),
        "alpha_by_lenience": {
            str(lenience): lenient_alpha(traces, lenience) for lenience in LENIENCES
        },
        "c": {"value": cost.c, "low": c_low, "high": c_high},
        "c_hat": c_hat,
        "target_ms": {str(n): 1e3 * seconds for n, seconds in cost.target_seconds.items()},
        "draft_ms": 1e3 * cost.draft_seconds,
        "drafting_ms": {str(g): 1e3 * seconds for g, seconds in cost.draft_curve.items()},
        "overhead_ms": 1e3 * cost.overhead_seconds,
        "baseline_overhead_ms": 1e3 * cost.baseline_overhead_seconds,
        "prefill_ms": prefill,
        "iid_check": {
            "lag1_correlation_of_beta": _lag1_correlation(traces),
            "block_efficiency": {
                str(gamma): {
                    "replay": block_efficiency(traces, gamma),
                    "iid": float(expected_tokens(mean_alpha, gamma)),
                }
                for gamma in gammas
            },
        },
        "optimal_gamma": best if replayed[best] > 1 else 0,
        "improvement_factor": {
            str(gamma): {
                "replay": replayed[gamma],
                "iid": float(calibrated_factor(mean_alpha, gamma, cost=cost)),
            }
            for gamma in gammas
        },
        "setup": {
            **setup,
            "device": str(subject.target.device),
            "threads": torch.get_num_threads(),
            "python": platform.python_version(),
            "platform": platform.platform(),
            "libraries": {name: version(name) for name in LIBRARIES},
            "prompts_hash": prompts_hash(prompts),
            "max_new_tokens": subject.stopping.max_new_tokens,
            "max_gamma": max_gamma,
            "seed": seed,
            "date": date.today().isoformat(),
        },
    }


def _alpha_by_position(traces: Sequence[Trace]) -> list[dict[str, Any]]:
    """Returns the mean of beta in bins of positions, with how many tokens each holds."""
    longest = max(t.tokens for t in traces)
    bins = []
    for first in range(0, longest, POSITIONS_PER_BIN):
        values = np.concatenate([t.beta[first : first + POSITIONS_PER_BIN] for t in traces])
        bins.append({"first": first, "alpha": float(values.mean()), "tokens": len(values)})
    return bins


def _lag1_correlation(traces: Sequence[Trace]) -> float | None:
    """Returns the correlation of beta with its successor; None where it never varies."""
    pairs = np.concatenate([np.stack([t.beta[:-1], t.beta[1:]]) for t in traces], axis=1)
    if pairs.shape[1] < 2 or (pairs.std(axis=1) == 0).any():
        return None
    return float(np.corrcoef(pairs)[0, 1])
