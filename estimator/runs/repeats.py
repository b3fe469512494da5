"""Repeats of one text, made one: each block counts by the median of its repeats.

Repeats are the same work, id for id, and the speed of the machine was divided out of them. What is
left of their differences is accident: another program for a moment, the garbage collector. A median
passes over that, in baseline, probes and measured runs alike. The fastest would not do: where speed
changes it is the luckiest moment, and short blocks have more of these than long ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median as middle

from estimator.costs.blocks import fit_costs
from estimator.intervals import Interval, jackknife_interval, ratio
from estimator.runs.arms import AGAIN, PROBE, Runs
from reference.records import Generation
from simulator.cost.curves import CostModel

Timed = dict[str, list[Generation]]   # arm -> prompt


def median(repeats: Sequence[Generation]) -> Generation:
    """Returns the first repeat with the medians of each block's times.

    Args:
      repeats: of one text, at least 1. One that took another way (a device may round differently
        from run to run and flip a tie) is left out: its blocks are not the first one's.
    """
    first = repeats[0]
    alike = [run for run in repeats if _way(run) == _way(first)]
    return replace(
        first,
        blocks=tuple(
            replace(
                blocks[0],
                draft_seconds=middle(block.draft_seconds for block in blocks),
                verify_seconds=middle(block.verify_seconds for block in blocks),
                other_seconds=middle(block.other_seconds for block in blocks),
            )
            for blocks in zip(*(run.blocks for run in alike), strict=True)
        ),
        prefill_seconds=middle(run.prefill_seconds for run in alike),
    )


def timed(runs: Runs) -> Timed:
    """Returns each arm's texts, one for each prompt."""
    return {arm: [median(repeats) for repeats in rows] for arm, rows in runs.items()}


def probes(texts: Mapping[str, Sequence[Generation]]) -> list[Generation]:
    """Returns every probing text, by draft length and prompt."""
    return [text for arm, rows in texts.items() if arm.startswith(PROBE) for text in rows]


def priced(texts: Timed) -> CostModel:
    """Returns the cost model of the baseline's and the probes' texts."""
    return fit_costs(texts[AGAIN], probes(texts))


def step_ratio(texts: Timed, shorter: int, longer: int) -> Interval:
    """Returns the interval over prompts of what a block takes at one draft length over another."""

    def value(some: Timed) -> float:
        cost = priced(some)
        return float(cost.block_seconds(longer) / cost.block_seconds(shorter))

    prompts = range(len(texts[AGAIN]))
    if len(prompts) < 2:
        return None, None
    left_out = [value(without(texts, prompt)) for prompt in prompts]
    return jackknife_interval(value(texts), left_out, scale=ratio)


def without(texts: Timed, prompt: int) -> Timed:
    """Returns the texts of all prompts but one."""
    return {arm: rows[:prompt] + rows[prompt + 1 :] for arm, rows in texts.items()}


def of_prompts(texts: Timed, prompts: Sequence[int]) -> Timed:
    """Returns the texts of some of the prompts, by their indices."""
    return {arm: [rows[prompt] for prompt in prompts] for arm, rows in texts.items()}


def _way(run: Generation) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(block.drafted, block.tokens) for block in run.blocks]
