"""Acceptance and speed-up with intervals, for all texts or one group of prompts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from estimator.intervals import jackknife_interval, left_out, rate, ratio, ratio_interval
from estimator.profiles.parts import Alpha, Estimate
from estimator.profiles.profile import Workload
from estimator.timing.rates import Timed, of_prompts, priced, without
from estimator.traces.traces import Trace, alpha, replayed_calls
from simulator.numerics.intervals import CONFIDENCE

TINY = 1e-9  # blocks: fewer are a rounding error of none


@dataclass(frozen=True, slots=True)
class SpeedUps:
    """The speed-up of each gamma on the recorded texts at measured costs.

    factors: baseline seconds over replayed seconds, by gamma, ascending from 1.
    best: the smallest gamma with the largest factor; 0 if no factor is above 1.
    c: time of a steady draft step over time of a target step.
    factors_without, c_without: the factors and c without each prompt in turn; empty for one prompt.
    """

    factors: dict[int, Estimate]
    best: int
    c: Estimate
    factors_without: dict[int, tuple[float, ...]]
    c_without: tuple[float, ...]


def speed_ups(traces: Sequence[Trace], texts: Timed, gammas: Sequence[int]) -> SpeedUps:
    """Returns the speed-ups over all prompts, with jackknife intervals over prompts.

    Leaving out a prompt leaves out its text and its timings. A single prompt gives no intervals.

    gammas: at least 1 each, ascending.
    """
    prompts = len(traces)
    costs = [priced(texts)]
    if prompts > 1:
        costs += [priced(without(texts, prompt)) for prompt in range(prompts)]
    baseline = np.array([cost.baseline_seconds for cost in costs])
    tokens = np.array([float(trace.tokens) for trace in traces])
    columns = [baseline / baseline]
    for gamma in gammas:
        blocks = np.array([trace.replay.blocks(gamma) for trace in traces])
        prices = np.array([cost.block_seconds(np.arange(gamma + 1)) for cost in costs])
        kept = np.concatenate([blocks.sum(axis=0)[None], left_out(blocks)])[: len(costs)]
        saved = np.concatenate([[tokens.sum()], left_out(tokens)])[: len(costs)] * baseline
        columns.append(saved / (kept * prices).sum(axis=1))
    # Row 0 is of all prompts, row i + 1 of all but prompt i.
    table = np.column_stack(columns)
    best = int(table[0].argmax())
    steps = np.array([cost.c for cost in costs])
    drafting = dict(zip(gammas, table.T[1:], strict=True))
    return SpeedUps(
        factors={gamma: _estimate(column, tokens) for gamma, column in drafting.items()},
        best=(0, *gammas)[best],
        c=_estimate(steps, tokens),
        factors_without={g: tuple(column[1:].tolist()) for g, column in drafting.items()},
        c_without=tuple(steps[1:].tolist()),
    )


def _estimate(values: NDArray[np.float64], tokens: NDArray[np.float64]) -> Estimate:
    """Returns values[0], of all prompts, with a jackknife interval from values[1:]."""
    value = float(values[0])
    interval = jackknife_interval(value, values[1:], scale=ratio, sizes=tokens)
    return Estimate(value, *interval)


def measured_alpha(traces: Sequence[Trace]) -> Alpha:
    """Returns the mean of beta over the tokens of all texts, with its interval over texts."""
    low, high = ratio_interval(
        [float(trace.beta.sum()) for trace in traces],
        [trace.tokens for trace in traces],
        scale=rate,
    )
    return Alpha(
        value=alpha(traces),
        low=low,
        high=high,
        confidence=CONFIDENCE,
        tokens=sum(trace.tokens for trace in traces),
        prompts=len(traces),
    )


def alpha_left_out(traces: Sequence[Trace]) -> tuple[float, ...]:
    """Returns the acceptance rate without each text in turn; empty for a single text."""
    if len(traces) < 2:
        return ()
    betas = np.array([float(trace.beta.sum()) for trace in traces])
    tokens = np.array([float(trace.tokens) for trace in traces])
    without: list[float] = (left_out(betas) / left_out(tokens)).tolist()
    return tuple(min(rate, 1.0) for rate in without)


def accepted_by_position(traces: Sequence[Trace], gamma: int) -> tuple[Estimate, ...]:
    """Returns the share of blocks of γ that accept their tokens 1, 2, …, as servers count it.

    Shares are over all blocks, including shorter ones near a text's end, so they never rise, and 1
    plus their sum is the number of tokens per call at γ. Positions that no block drafts are left
    out. Shares over a single text have no interval.
    """
    counts = [trace.replay.positions(gamma) for trace in traces]
    accepted, offered = (np.array(each) for each in zip(*counts, strict=True))
    drafted = int((offered.sum(axis=0) > 0).sum())
    blocks = np.array([trace.replay.blocks(gamma).sum() for trace in traces])
    found = []
    for above in accepted.T[:drafted]:
        known = len(traces) > 1 and bool((left_out(blocks) > TINY).all())
        interval = ratio_interval(above, blocks.tolist(), scale=rate) if known else (None, None)
        found.append(Estimate(float(above.sum() / blocks.sum()), *interval))
    return tuple(found)


def by_category(categories: Sequence[str | None]) -> dict[str, list[int]]:
    """Returns the indices of the prompts of each category; prompts without one are left out."""
    found: dict[str, list[int]] = {}
    for prompt, category in enumerate(categories):
        if category is not None:
            found.setdefault(category, []).append(prompt)
    return found


def by_context(lengths: Sequence[int]) -> dict[str, list[int]]:
    """Returns the indices of the prompts by octave of their length, ascending: "64-127", …."""
    found: dict[int, list[int]] = {}
    for prompt, length in enumerate(lengths):
        found.setdefault(length.bit_length(), []).append(prompt)
    return {f"{2 ** (bits - 1)}-{2**bits - 1}": found[bits] for bits in sorted(found)}


def workload(
    traces: Sequence[Trace],
    texts: Timed,
    prompts: Sequence[int],
    *,
    gammas: Sequence[int],
) -> Workload:
    """Returns the results of a subset of the prompts, each with its interval over these prompts.

    traces, texts: traces and timed runs of all prompts.
    prompts: indices of the prompts to use, at least one.
    gammas: at least 1 each, ascending.
    """
    chosen = [traces[prompt] for prompt in prompts]
    gained = speed_ups(chosen, of_prompts(texts, prompts), gammas)
    return Workload(
        alpha=measured_alpha(chosen),
        tokens_per_call={gamma: _tokens_per_call(chosen, gamma) for gamma in gammas},
        improvement_factor=gained.factors,
        optimal_gamma=gained.best,
        accepted_by_position=accepted_by_position(chosen, max(gammas)),
    )


def _tokens_per_call(traces: Sequence[Trace], gamma: int) -> Estimate:
    tokens = [float(trace.tokens) for trace in traces]
    calls = [replayed_calls(trace, gamma) for trace in traces]
    return Estimate(sum(tokens) / sum(calls), *ratio_interval(tokens, calls))
