"""Sentences on runs that contradict physics or each other."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from simulator.cost.fitted.runs import USUAL_ERROR, Run, impossible, pooled

# Kernels change with the number of tokens: a published block of 8 took 20 % less than one of 7.
STEP_NOISE = 0.3
# Repeats conflict beyond this many standard errors; tokens per call that fall by less are noise.
_CONFLICT, _FEWER = 3.0, 0.01
# A stated acceptance whose tokens per call differ by more from a run's length is named.
_OTHER = 0.01


def contradictions(runs: Sequence[Run]) -> tuple[str, ...]:
    """Returns a sentence for each contradiction among runs: with physics, and with each other."""
    means = pooled(runs)
    plain = {run.load: run for run in means if run.gamma == 0}
    sentences = []
    for run in impossible(runs):
        gain = plain[run.load].seconds_per_token / run.seconds_per_token
        sentences.append(
            f"The run at {_at(run)} is impossible: {gain:.2f} times the speed without speculation "
            f"from {run.length:.2f} tokens per call. It is not used. Is its length, or the run "
            "without speculation, of other traffic?"
        )
    sentences += [text for text in map(partial(_repeats, runs), means) if text]
    counted = [run for run in means if run.gamma > 0 and run.drafted is None]
    for load in dict.fromkeys(run.load for run in counted):
        ordered = sorted((run for run in counted if run.load == load), key=lambda run: run.gamma)
        for first, second in pairwise(ordered):
            sentences += _between(first, second)
    return tuple(sentences)


def other_lengths(runs: Sequence[Run], stated: Callable[[int], Any]) -> tuple[str, ...]:
    """Returns a sentence for each run whose length differs from a stated acceptance.

    stated: returns the tokens per call of a γ.
    """
    sentences = []
    for run in pooled(runs):
        if run.gamma > 0 and run.counted and run.drafted is None:
            tokens = float(stated(run.gamma))
            if abs(run.length / tokens - 1) > _OTHER:
                sentences.append(
                    f"The stated acceptance, {tokens:.2f} tokens per call at {_at(run)}, is used, "
                    f"not the run's length of {run.length:.2f}. Leave it out to use the runs'."
                )
    return tuple(sentences)


def _at(run: Run) -> str:
    batch = f", batch {run.load.batch}" if run.load.batch > 1 else ""
    return f"K = {run.gamma}{batch}"


def _repeats(runs: Sequence[Run], mean: Run) -> str:
    """Returns a sentence if runs of one setting differ by more than their errors; else ""."""
    setting = (mean.load, mean.gamma, mean.drafted is None)
    same = [run for run in runs if (run.load, run.gamma, run.drafted is None) == setting]
    times = sorted(same, key=lambda run: run.seconds_per_token)
    if len(times) < 2:
        return ""
    first, last = times[0], times[-1]
    apart = math.log(last.seconds_per_token / first.seconds_per_token)
    if apart <= _CONFLICT * max(math.hypot(first.error, last.error), USUAL_ERROR):
        return ""
    return (
        f"Runs at {_at(mean)} differ: {1e3 * first.seconds_per_token:.4g} to "
        f"{1e3 * last.seconds_per_token:.4g} ms a token. Their mean is used, with that error."
    )


def _between(first: Run, second: Run) -> list[str]:
    """Returns sentences on two runs of one load, of which the second drafts more tokens."""
    sentences = []
    if second.length < (1 - _FEWER) * first.length:
        sentences.append(
            f"Tokens per call fall from {first.length:.2f} at K = {first.gamma} to "
            f"{second.length:.2f} at K = {second.gamma}: were both runs of the same traffic?"
        )
    if second.step_seconds < (1 - STEP_NOISE) * first.step_seconds:
        sentences.append(
            f"A block of K = {second.gamma} takes {1e3 * second.step_seconds:.3g} ms, and one of "
            f"K = {first.gamma} {1e3 * first.step_seconds:.3g} ms: a longer block is seldom so "
            "much quicker."
        )
    return sentences
