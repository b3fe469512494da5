"""Acceptance and speed-up of texts, with intervals: of all texts, or of one kind of prompt."""

from collections.abc import Sequence

import numpy as np

from estimator.intervals import left_out, rate, ratio_interval
from estimator.profiles.drafting import Alpha, Estimate
from estimator.profiles.profile import Workload
from estimator.profiles.speed_ups import speed_ups
from estimator.timing.rates import Timed, of_prompts
from estimator.traces.traces import Trace, alpha, replayed_calls
from simulator.numerics.intervals import CONFIDENCE

TINY = 1e-9  # blocks: fewer are a rounding error of none


def measured_alpha(traces: Sequence[Trace]) -> Alpha:
    """Returns the mean of beta over the tokens of all texts, with its interval.

    Args:
      traces: one for each prompt, at least one.
    """
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

    Shares are over all blocks, also those near a text's end that draft fewer tokens, so they never
    rise, and 1 plus their sum is the number of tokens per call at γ. Positions that no block drafts
    are left out. A share over a single text has no interval.

    Args:
      traces: one for each prompt, at least one.
      gamma: drafted tokens of a block, at most those that were replayed.
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
    """Returns the indices of the prompts of each category, in the order they come in.

    Args:
      categories: category of each prompt; prompts with None are left out.
    """
    found: dict[str, list[int]] = {}
    for prompt, category in enumerate(categories):
        if category is not None:
            found.setdefault(category, []).append(prompt)
    return found


def by_context(lengths: Sequence[int]) -> dict[str, list[int]]:
    """Returns the indices of the prompts of each octave of lengths, ascending: "64-127", ….

    Args:
      lengths: tokens of each prompt, at least 1: the context that its text begins with.
    """
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
    """Returns the results of some of the prompts, each number with its interval over them.

    Args:
      traces: one for each of all prompts, as drafts are judged.
      texts: timed texts of the baseline and the probes, on all prompts.
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
