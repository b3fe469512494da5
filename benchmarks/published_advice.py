"""Scores rules of advice on public measurements: the speed that each loses against the best K.

    python benchmarks/published_advice.py

A load is a server, its traffic and all K that were published of it; lengths are given, and the
prior is fitted without the load's source. Loss is 1 less the chosen speed over the best of 0 and
every published K. A second table compares stated probabilities of a gain with what came true. The
fits take three minutes on one core.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from published_deployed import impossible
from published_rows import Row, read_rows
from published_scores import without_source

from simulator.choice.advice import NEAR, Advice, advise
from simulator.cost.forecast import Forecast
from simulator.cost.posterior import infer
from simulator.cost.published_prior import NOT_CALIBRATED, published_prior

BOUNDS = (0.0, 0.4, 0.5, 0.6, 0.75, 0.95, 1.0)


@dataclass(frozen=True)
class Load:
    """One load: its first row, its published K, the predicted law, and speed-ups by K with 0."""

    row: Row
    gammas: np.ndarray
    law: Forecast
    speeds: dict[int, float]

    def loss(self, gamma: int) -> float:
        return 1 - self.speeds[gamma] / max(self.speeds.values())

    def advice(self, *, calibrated: bool = True) -> Advice:
        return advise(self.gammas, self.law, calibrated=calibrated)


def read_loads() -> list[Load]:
    """Returns every load with its prediction."""
    rows, _ = read_rows()
    left_out = impossible(rows)
    rows = [row for row in rows if row.facts["target"] not in left_out]
    effects = without_source(rows)
    groups = defaultdict(dict)
    for row in rows:
        groups[row.sweep].setdefault(row.run.gamma, row)
    return [_load(dict(sorted(group.items())), effects) for group in groups.values()]


def _load(group: dict[int, Row], effects: dict[str, dict]) -> Load:
    rows = list(group.values())
    first = rows[0]
    prior = published_prior(first.traits, effects=effects[first.owner])
    law = infer(first.machine, prior, []).speed_ups(
        first.run.load,
        [row.run.drafting for row in rows if row.run.drafting is not None],
        [row.run.length for row in rows],
    )
    speeds = {0: 1.0, **{gamma: row.speed_up for gamma, row in group.items()}}
    return Load(first, np.array(list(group)), law, speeds)


def at_least(threshold: float, *, undecided: bool) -> Callable[[Load], int]:
    """Returns the rule that drafts from a probability of a gain on."""

    def rule(load: Load) -> int:
        calibrated = not (undecided and load.row.traits.draft in NOT_CALIBRATED)
        found = load.advice(calibrated=calibrated)
        gains = (found.gain_probability or 0.0) >= threshold and load.law.mean.max() > NEAR
        return found.named if gains and not found.undecided else 0

    return rule


RULES: dict[str, Callable[[Load], int]] = {
    "0 unless the 90 % interval lies above 1": lambda load: (
        load.advice().named if load.advice().certain else 0
    ),
    "always K = 3, or the nearest": lambda load: int(load.gammas[np.abs(load.gammas - 3).argmin()]),
    "largest mean speed-up": lambda load: int(
        np.concatenate([[0], load.gammas])[
            np.concatenate([[0.0], load.law.mean + load.law.deviation**2 / 2]).argmax()
        ]
    ),
    "threshold 0.5": at_least(0.5, undecided=False),
    "threshold 0.6": at_least(0.6, undecided=False),
    "threshold 0.7": at_least(0.7, undecided=False),
    "threshold 0.5, draft models undecided (advised)": at_least(0.5, undecided=True),
    "threshold 0.6, draft models undecided": at_least(0.6, undecided=True),
}


def losses(loads: Sequence[Load]) -> list[str]:
    """Returns a table: mean loss by load and by source, the share made slower, the worst."""
    lines = ["| rule | by load | by source | made slower | largest |", "|---" * 5 + "|"]
    for name, rule in RULES.items():
        by_source = defaultdict(list)
        slower = 0
        for load in loads:
            gamma = rule(load)
            by_source[load.row.owner].append(load.loss(gamma))
            slower += load.speeds[gamma] < 1
        every = [loss for each in by_source.values() for loss in each]
        of_source = np.mean([np.mean(each) for each in by_source.values()])
        lines.append(
            f"| {name} | {np.mean(every):.1%} | {of_source:.1%} | {slower / len(loads):.1%} "
            f"| {max(every):.0%} |"
        )
    return lines


def came_true(loads: Sequence[Load]) -> list[str]:
    """Returns a table of stated probabilities and the share of loads that gained, by kind."""
    lines = ["| draft | stated | loads | mean stated | gained |", "|---" * 5 + "|"]
    kinds = sorted({load.row.traits.draft for load in loads})
    for kind in kinds:
        found = [load for load in loads if load.row.traits.draft == kind]
        stated = np.array([load.advice().gain_probability or 0.0 for load in found])
        gained = np.array([load.speeds[load.advice().named] > 1 for load in found])
        for low, high in pairwise(BOUNDS):
            within = (stated >= low) & ((stated < high) | (high == 1.0))
            if within.any():
                lines.append(
                    f"| {kind} | {low:.2f} to {high:.2f} | {within.sum()} "
                    f"| {stated[within].mean():.2f} | {gained[within].mean():.0%} |"
                )
    return lines


def main() -> None:
    loads = read_loads()
    newer = [load for load in loads if load.row.traits.engine != "vllm-v0"]
    for name, some in (("all", loads), ("without vLLM V0", newer)):
        print(f"{len(some)} loads, {name}:\n")
        print("\n".join([*losses(some), ""]))
    for kind in sorted({load.row.traits.draft for load in newer}):
        some = [load for load in newer if load.row.traits.draft == kind]
        print(f"{len(some)} loads, {kind}, without vLLM V0:\n")
        print("\n".join([*losses(some), ""]))
    print("\n".join(came_true(newer)))


if __name__ == "__main__":
    main()
