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
            run.text,
            # The prompt was read in its first round.
            prefill_seconds=run.text.prefill_seconds / speeds.get(min(run.rounds, default=-1), 1.0),
            blocks=tuple(
                scaled(block, 1 / speeds.get(number, 1.0))
                for block, number in zip(run.text.blocks, run.rounds, strict=True)
            ),
        )
        for _, run in runs
    ]


def round_speeds(runs: Sequence[tuple[str, InTurns]]) -> dict[int, float]:
    """Returns the duration of each round's blocks relative to the median speed.

    Rounds are left out if they have too few kinds of blocks in common with other rounds.
    """
    seconds: dict[Kind, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for arm, run in runs:
        for block, number in zip(run.text.blocks, run.rounds, strict=True):
            if block.seconds > 0:  # else the clock is too coarse
                seconds[arm, len(block.drafted)][number].append(block.seconds)
    kinds = [rounds for rounds in seconds.values() if len(rounds) >= LEAST_ROUNDS]
    counts = Counter(number for rounds in kinds for number in rounds)
    numbers = [number for number, count in counts.items() if count >= LEAST_KINDS]
    if not numbers:
        return {}
    table = np.array(
        [
            [np.median(rounds[number]) if number in rounds else np.nan for number in numbers]
            for rounds in kinds
        ]
    )
    _, speeds = polish(table)
    return dict(zip(numbers, speeds.tolist(), strict=True))
