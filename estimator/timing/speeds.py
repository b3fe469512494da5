"""Divides the speed of each round of turns out of the blocks that ran in it.

For every kind of block (its arm and its number of drafted tokens) and every round,

    log seconds = level of the kind + speed of the round + noise

which the median polish of `estimator.timing.levels` separates. Each block then counts with the time
that it would have taken at the median speed. All arms of a round share its speed, so an error in
the speed does not change their ratios.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from estimator.timing.levels import polish
from estimator.timing.turns import InTurns, scaled
from reference.records import Generation

# A kind in fewer rounds is ignored: its level would only reflect their speeds.
LEAST_ROUNDS = 4
# A round with fewer kinds is ignored: its speed would only reflect their noise.
LEAST_KINDS = 3

Kind = tuple[str, int]


def at_one_speed(runs: Sequence[tuple[str, InTurns]]) -> list[Generation]:
    """Returns texts with the times that their blocks would take at the rounds' median speed.

    The parts of a block (drafting, verifying, other) keep their proportions.
    """
    speeds = round_speeds(runs)
    return [
        replace(
            text,
            # The prompt was read in its first round.
            prefill_seconds=text.prefill_seconds / speeds.get(min(rounds, default=-1), 1.0),
            blocks=tuple(
                scaled(block, 1 / speeds.get(number, 1.0))
                for block, number in zip(text.blocks, rounds, strict=True)
            ),
        )
        for _, (text, rounds) in runs
    ]


def round_speeds(runs: Sequence[tuple[str, InTurns]]) -> dict[int, float]:
    """Returns the duration of each round's blocks relative to the median speed.

    Rounds are left out if they have too few kinds of blocks in common with other rounds.
    """
    seconds: dict[Kind, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for arm, (text, rounds) in runs:
        for block, number in zip(text.blocks, rounds, strict=True):
            if block.seconds > 0:  # else the clock is too coarse
                seconds[arm, len(block.drafted)][number].append(block.seconds)
    kinds = [each for each in seconds.values() if len(each) >= LEAST_ROUNDS]
    counts = Counter(number for each in kinds for number in each)
    numbers = [number for number, count in counts.items() if count >= LEAST_KINDS]
    if not numbers:
        return {}
    table = np.array(
        [
            [np.median(each[number]) if number in each else np.nan for number in numbers]
            for each in kinds
        ]
    )
    _, speeds = polish(table)
    return dict(zip(numbers, speeds.tolist(), strict=True))
