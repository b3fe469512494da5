"""Acceptance and speed-up with intervals, for all texts or one group of prompts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from estimator.intervals import jackknife_interval, left_out, rate, ratio, ratio_interval
from estimator.profiles.contexts import at_contexts
from estimator.profiles.parts import Alpha, DraftAcceptance, Estimate
from estimator.profiles.profile import AlphaBin, LeftOut, Workload
from estimator.timing.rates import Timed, jackknifed_costs, of_prompts
from estimator.traces.traces import Trace, acceptance_by_rank, alpha, lenient_alpha, replayed_blocks
from simulator.numerics.intervals import CONFIDENCE

POSITIONS_PER_BIN = 16
# Ranks that are counted separately: a tree's node seldom has more children.
RANKS = 16
TINY = 1e-9  # expected blocks: fewer count as none


@dataclass(frozen=True, slots=True)
class SpeedUps:
    """The speed-up of each γ on the recorded texts at measured costs.

    factors: by γ, ascending, the baseline's seconds over the seconds that replay predicts.
    best: the smallest γ with the largest factor; 0 if no factor is above 1.
    c: time of a draft step divided by time of a target step.
    """

    factors: dict[int, Estimate]
    best: int
    c: Estimate
    left_out: LeftOut


def speed_ups(traces: Sequence[Trace], texts: Timed, gammas: Sequence[int]) -> SpeedUps:
    """Returns the speed-ups over all prompts, with jackknife intervals if there are several.

    gammas: draft lengths, each at least 1, ascending.
    """
    costs = jackknifed_costs(texts)
    tokens = np.array([float(trace.tokens) for trace in traces])

    def sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the sum over all prompts in row 0, and the sum without prompt i in row i."""
        return np.concatenate([values.sum(axis=0)[None], left_out(values)])[: len(costs)]

    saved = sums(tokens) * np.array([cost.baseline_seconds for cost in costs])
    factors = {}
    for gamma in gammas:
        blocks = np.array([trace.replay.blocks(gamma) for trace in traces])
        prices = np.array([cost.block_seconds(np.arange(gamma + 1)) for cost in costs])
        factors[gamma] = saved / (sums(blocks) * prices).sum(axis=1)
    best = max(gammas, key=lambda gamma: float(factors[gamma][0]))
    steps = np.array([cost.c for cost in costs])
    alphas = sums(np.array([trace.beta.sum() for trace in traces])) / sums(tokens)

    def estimate(values: NDArray[np.float64]) -> Estimate:
        value = float(values[0])
        return Estimate(value, *jackknife_interval(value, values[1:], scale=ratio, sizes=tokens))

    return SpeedUps(
        factors={gamma: estimate(values) for gamma, values in factors.items()},
        best=best if factors[best][0] > 1 else 0,
        c=estimate(steps),
        left_out=LeftOut(
            tuple(np.minimum(alphas[1:], 1.0).tolist()),
            tuple(steps[1:].tolist()),
            {gamma: tuple(values[1:].tolist()) for gamma, values in factors.items()},
        ),
    )


def measured_alpha(traces: Sequence[Trace]) -> Alpha:
    """Returns α, the mean of Σ min(p, q) over all texts' tokens, with an interval over texts."""
    tokens = [trace.tokens for trace in traces]
    low, high = ratio_interval([float(trace.beta.sum()) for trace in traces], tokens, scale=rate)
    return Alpha(alpha(traces), low, high, CONFIDENCE, sum(tokens), len(traces))


def accepted_by_position(traces: Sequence[Trace], gamma: int) -> tuple[Estimate, ...]:
    """Returns the share of blocks that accept their first, second, … token, as servers count it.

    Each share is over all blocks, including shorter ones near a text's end. So shares never rise,
    and 1 plus their sum is the number of tokens per call at γ.
    """
    counts = [trace.replay.positions(gamma) for trace in traces]
    accepted, offered = (np.array(column) for column in zip(*counts, strict=True))
    drafted = int((offered.sum(axis=0) > 0).sum())
    blocks = np.array([trace.replay.blocks(gamma).sum() for trace in traces])
    known = len(traces) > 1 and bool((left_out(blocks) > TINY).all())
    return tuple(
        Estimate(
            float(above.sum() / blocks.sum()),
            *(ratio_interval(above, blocks.tolist(), scale=rate) if known else (None, None)),
        )
        for above in accepted.T[:drafted]
    )


def draft_acceptance(
    traces: Sequence[Trace], max_gamma: int, timed: int, *, prompts: Sequence[int]
) -> DraftAcceptance:
    """Returns the acceptance for γ up to max_gamma, and by position in drafts of `timed` tokens.

    prompts: number of tokens of each trace's prompt, by which acceptance is divided by context.
    """
    jointly = [trace.judged("block", max_gamma) for trace in traces]
    return DraftAcceptance(
        alpha=measured_alpha(traces),
        blocks=replayed_blocks(traces, max_gamma),
        accepted_by_position=accepted_by_position(traces, timed),
        blocks_jointly=replayed_blocks(jointly, max_gamma),
        alpha_by_lenience={
            lenience: lenient_alpha(traces, lenience) for lenience in traces[0].alpha_by_lenience
        },
        acceptance_by_rank=acceptance_by_rank(traces, RANKS),
        at_contexts=at_contexts(traces, prompts, max_gamma),
    )


def alpha_by_position(traces: Sequence[Trace]) -> tuple[AlphaBin, ...]:
    """Returns the mean acceptance probability by range of positions in the text."""
    bins = {
        first: np.concatenate([t.beta[first : first + POSITIONS_PER_BIN] for t in traces])
        for first in range(0, max(t.tokens for t in traces), POSITIONS_PER_BIN)
    }
    return tuple(AlphaBin(first, float(beta.mean()), len(beta)) for first, beta in bins.items())


def lag1_correlation(traces: Sequence[Trace]) -> float | None:
    """Returns the correlation of Σ min(p, q) at neighbouring positions; None if it never varies."""
    pairs = np.concatenate([np.stack([t.beta[:-1], t.beta[1:]]) for t in traces], axis=1)
    if pairs.shape[1] < 2 or (pairs.std(axis=1) == 0).any():
        return None
    return float(np.corrcoef(pairs)[0, 1])


def by_category(categories: Sequence[str | None]) -> dict[str, list[int]]:
    """Returns the indices of the prompts of each category; prompts without one are left out."""
    names = dict.fromkeys(name for name in categories if name is not None)
    return {
        name: [at for at, category in enumerate(categories) if category == name] for name in names
    }


def by_context(prompts: Sequence[Sequence[int]]) -> dict[str, list[int]]:
    """Returns the indices of the prompts by octave of their length, ascending: "64-127", …."""
    bits = [len(ids).bit_length() for ids in prompts]
    return {
        f"{2 ** (size - 1)}-{2**size - 1}": [at for at, length in enumerate(bits) if length == size]
        for size in sorted(set(bits))
    }


def workloads(
    traces: Sequence[Trace],
    texts: Timed,
    groups: Mapping[str, Sequence[int]],
    *,
    gammas: Sequence[int],
) -> dict[str, Workload]:
    """Returns the results of each group of prompts, with intervals over the group's prompts.

    traces, texts: traces and timed runs of all prompts.
    groups: indices of prompts by the group's name.
    """
    by_workload = {}
    for name, prompts in groups.items():
        chosen = [traces[prompt] for prompt in prompts]
        gained = speed_ups(chosen, of_prompts(texts, prompts), gammas)
        tokens = [trace.tokens for trace in chosen]
        calls = {gamma: [float(trace.replay.calls(gamma)) for trace in chosen] for gamma in gammas}
        by_workload[name] = Workload(
            alpha=measured_alpha(chosen),
            tokens_per_call={
                gamma: Estimate(sum(tokens) / sum(of_gamma), *ratio_interval(tokens, of_gamma))
                for gamma, of_gamma in calls.items()
            },
            improvement_factor=gained.factors,
            optimal_gamma=gained.best,
            accepted_by_position=accepted_by_position(chosen, max(gammas)),
        )
    return by_workload
