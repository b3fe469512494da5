"""Repeats of one text, made one: each block counts by its fastest repeat.

Repeats are the same work, id for id, so what made one of them slower was not the work: another
program, the garbage collector, a processor that changed its speed. The fastest is the nearest to
what the work takes, and baseline, probes and measured runs are all counted so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from estimator.costs.blocks import fit_costs
from estimator.runs.arms import AGAIN, PROBE, Runs
from reference.records import Generation
from simulator.cost.curves import CostModel

Timed = dict[str, list[Generation]]   # arm -> prompt


def fastest(repeats: Sequence[Generation]) -> Generation:
    """Returns the first repeat with the times of each block's fastest one.

    Args:
      repeats: of one text, at least 1. One that took another way (a device may round differently
        from run to run and flip a tie) is left out: its blocks are not the first one's.
    """
    first = repeats[0]
    alike = [run for run in repeats if _way(run) == _way(first)]
    return replace(
        first,
        blocks=tuple(
            min(blocks, key=lambda block: block.seconds)
            for blocks in zip(*(run.blocks for run in alike), strict=True)
        ),
        prefill_seconds=min(run.prefill_seconds for run in alike),
    )


def timed(runs: Runs) -> Timed:
    """Returns each arm's texts, one for each prompt."""
    return {arm: [fastest(repeats) for repeats in rows] for arm, rows in runs.items()}


def probes(texts: Mapping[str, Sequence[Generation]]) -> list[Generation]:
    """Returns every probing text, by draft length and prompt."""
    return [text for arm, rows in texts.items() if arm.startswith(PROBE) for text in rows]


def priced(texts: Timed) -> CostModel:
    """Returns the cost model of the baseline's and the probes' texts."""
    return fit_costs(texts[AGAIN], probes(texts))


def without(texts: Timed, prompt: int) -> Timed:
    """Returns the texts of all prompts but one."""
    return {arm: rows[:prompt] + rows[prompt + 1 :] for arm, rows in texts.items()}


def of_prompts(texts: Timed, prompts: Sequence[int]) -> Timed:
    """Returns the texts of some of the prompts, by their indices."""
    return {arm: [rows[prompt] for prompt in prompts] for arm, rows in texts.items()}


def _way(run: Generation) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(block.drafted, block.tokens) for block in run.blocks]
