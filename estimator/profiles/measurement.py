"""Measures a pair: alpha from target-generated text, c and the cost curves from probes."""

import hashlib
import json
import platform
from collections.abc import Callable, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from estimator.costs.blocks import fit_costs
from estimator.intervals import CONFIDENCE, interval, ratio_interval, resampled_prompts
from estimator.prompts import prompts_hash
from estimator.runs.arms import AGAIN, Runs, Subject, of_prompts, probe_runs, run_arms
from estimator.runs.batched import decode_batch
from estimator.seeding import seeded
from estimator.traces.ahead import replay_factor
from estimator.traces.trace_file import load_traces, save_traces
from estimator.traces.traces import LENIENCES, Trace, alpha, block_efficiency, lenient_alpha, trace
from reference.generation import decode
from simulator.acceptance.tokens import expected_tokens
from simulator.choice.calibrated import calibrated_factor
from simulator.cost.curves import CostModel

COST_REPLICATES = 200
POSITIONS_PER_BIN = 16


def measure_traces(
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    *,
    max_gamma: int,
    seed: int,
    path: Path | None,
    origins: Sequence[str] = (),
    batch_size: int = 1,
    progress: Callable[[], object],
) -> list[Trace]:
    """Returns one trace for each prompt, of a text sampled from the target.

    Args:
      subject: the pair and its settings.
      prompts: ids.
      max_gamma: the longest draft that replay will be asked about.
      seed: of the texts.
      path: an .npz that keeps each finished prompt's trace; None keeps none.
      origins: what tells models of one name apart (files, precision): kept traces of others are
        not used.
      batch_size: how many texts are sampled at once; each is scored alone.
      progress: called after each prompt.
    """
    # Another batch size is another rounding, which may tip a draw.
    key = _key(subject, prompts, max_gamma, seed, [*origins, str(batch_size)])
    known = {} if path is None else load_traces(path, key)
    for _ in known:
        progress()
    missing = [number for number in range(len(prompts)) if number not in known]
    for first in range(0, len(missing), batch_size):
        numbers = missing[first : first + batch_size]
        for number, tokens in zip(numbers, _texts(subject, prompts, numbers, seed), strict=True):
            known[number] = trace(
                subject.target,
                subject.drafter,
                prompts[number],
                tokens,
                sampling=subject.sampling,
                limit=subject.stopping.max_new_tokens,
                max_gamma=max_gamma,
                leniences=LENIENCES,
            )
            if path is not None:
                save_traces(path, known, key)
            progress()
    return [known[number] for number in range(len(prompts))]


def _texts(
    subject: Subject, prompts: Sequence[Sequence[int]], numbers: Sequence[int], seed: int
) -> list[tuple[int, ...]]:
    """Returns the target's texts of the prompts with these numbers, sampled at once."""
    generators = [seeded(subject.target.device, seed, number) for number in numbers]
    settings: dict[str, Any] = {"sampling": subject.sampling, "stopping": subject.stopping}
    if len(numbers) > 1:
        chosen = [prompts[number] for number in numbers]
        return decode_batch(subject.target, chosen, generators=generators, **settings)
    [number], [generator] = numbers, generators
    return [decode(subject.target, prompts[number], generator=generator, **settings).tokens]


def _key(
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    max_gamma: int,
    seed: int,
    origins: Sequence[str],
) -> str:
    """Returns a hash of everything that the traces depend on."""
    parts = [
        subject.target.name,
        subject.drafter.name,
        str(subject.sampling),
        str(subject.stopping.max_new_tokens),
        str(sorted(subject.stopping.end_ids)),
        prompts_hash(prompts),
        str(max_gamma),
        str(seed),
        *origins,
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


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
    traces: Sequence[Trace],
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
      traces: of `measure_traces`.
      runs: of `measure_costs`.
      max_gamma: the largest gamma reported.
      c_hat: draft over target arithmetic operations per token.
      setup: models, device and the like, as the caller names them.
      seed: of the bootstrap.
    """
    generator = np.random.default_rng((seed, 3))

    def fitted(chosen: Sequence[int]) -> CostModel:
        own = of_prompts(runs, chosen)
        return fit_costs(own[AGAIN], probe_runs(own))

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
            "libraries": {name: version(name) for name in ("numpy", "torch", "transformers")},
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
