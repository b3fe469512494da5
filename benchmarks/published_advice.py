"""Scores rules of advice on public measurements: the speed that each loses against the best K.

    python benchmarks/published_advice.py

A load is a server, its traffic and all K that were published of it; the prior is fitted without the
load's source. Loss is 1 less the chosen speed over the best of 0 and every published K. The first
tables take lengths as given; another compares stated probabilities of a gain with what came true;
the last ones say what is lost where lengths are not given (`published_knowledge.py`), by the
roofline's prior and by measured kernels. The fits take three minutes on one core.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from published_deployed import impossible
from published_fit import KERNELS, ROOFLINE, First
from published_knowledge import WAYS, Load, given
from published_rows import Row, over_kernels, read_rows
from published_scores import without_source
from published_speculation import table_head, table_row

from simulator.choice.advice import NEAR, THRESHOLD, UNDECIDED, Advice, advise
from simulator.choice.odds import OPEN
from simulator.cost.fitted.prior import NOT_CALIBRATED, V0, published_prior

BOUNDS = (0.0, 0.4, 0.5, 0.6, 0.75, 0.95, 1.0)
# From as many K on a load is a sweep, whose best K is worth choosing.
SWEEP = 3


def loads_of(rows: Sequence[Row], first: First) -> list[Load]:
    """Returns every load of some rows, with the prior that its source had no part in.

    first: parameters before any row, for machines over the roofline or over kernels.
    """
    effects = without_source(rows, first)
    groups = defaultdict(dict)
    for row in rows:
        groups[row.sweep].setdefault(row.run.gamma, row)
    return [
        Load(
            dict(sorted(group.items())),
            published_prior(first_of.traits, effects=effects[first_of.owner]),
        )
        for group in groups.values()
        for first_of in [next(iter(group.values()))]
    ]


def trusting(load: Load) -> Advice:
    """Returns the advice with lengths given, as if every probability could be trusted."""
    return advise(load.gammas, load.given)


def at_least(threshold: float, *, undecided: bool) -> Callable[[Load], int]:
    """Returns the rule that drafts from a probability of a gain on."""

    def rule(load: Load) -> int:
        calibrated = not (undecided and load.row.traits.draft in NOT_CALIBRATED)
        found = advise(load.gammas, load.given, calibrated=calibrated)
        gains = (found.gain_probability or 0.0) >= threshold and load.given.medians.max() > NEAR
        return found.named if gains and not found.undecided else 0

    return rule


RULES: dict[str, Callable[[Load], int]] = {
    "0 unless the 90 % interval lies above 1": lambda load: (
        trusting(load).named if trusting(load).certain else 0
    ),
    "always K = 3, or the nearest": lambda load: load.nearest,
    "largest mean speed-up": lambda load: int(
        np.concatenate([[0], load.gammas])[
            np.concatenate([[1.0], np.exp(load.given.draws).mean(axis=0)]).argmax()
        ]
    ),
    "threshold 0.5": at_least(0.5, undecided=False),
    "threshold 0.6": at_least(0.6, undecided=False),
    "threshold 0.7": at_least(0.7, undecided=False),
    "threshold 0.5, draft models undecided (advised)": at_least(0.5, undecided=True),
    "threshold 0.6, draft models undecided": at_least(0.6, undecided=True),
}


HEAD = table_head(("rule", "loads", "by load", "by source", "made slower", "largest"))


def losses(loads: Sequence[Load]) -> list[str]:
    """Returns a table of the rules, lengths given."""
    return [
        HEAD,
        *(lost(name, [(load, rule(load)) for load in loads]) for name, rule in RULES.items()),
    ]


def unknown_lengths(loads: Sequence[Load]) -> list[str]:
    """Returns a table of the advice by what is known of accepted lengths.

    A way is scored on the loads where it applies. The next rows score the advice with lengths given
    and always K = 3 on these loads.
    """
    lines = [HEAD]
    for name, way in WAYS.items():
        found = [(load, advice.gamma) for load in loads for advice in [way(load)] if advice]
        if not found:
            continue
        same = [load for load, _ in found]
        lines.append(lost(name, found))
        if name != "lengths given":
            lines.append(
                lost("- the same loads, lengths given", [(x, given(x).gamma) for x in same])
            )
        lines.append(lost("- the same loads, always K = 3", [(x, x.nearest) for x in same]))
    return lines


def lost(name: str, chosen: Sequence[tuple[Load, int]]) -> str:
    """Returns a row of a table: mean loss by load and source, the share made slower, the worst."""
    by_source = defaultdict(list)
    for load, gamma in chosen:
        by_source[load.row.owner].append(load.loss(gamma))
    every = [loss for each in by_source.values() for loss in each]
    of_source = np.mean([np.mean(each) for each in by_source.values()])
    slower = np.mean([load.speeds[gamma] < 1 for load, gamma in chosen])
    cells = (name, str(len(chosen)), f"{np.mean(every):.1%}", f"{of_source:.1%}", f"{slower:.1%}",
             f"{max(every):.0%}")  # fmt: skip
    return table_row(cells)


def asked(loads: Sequence[Load]) -> list[str]:
    """Returns a table of rules that ask for runs of draft models up to a probability of 0.9.

    A row for each least probability: how many loads get such an answer, the mean loss of all loads
    before the runs (without speculation), and after them.
    """
    lines = [table_head(("undecided from", "asked", "of", "by load, now", "after the runs"))]
    models = [load for load in loads if load.row.traits.draft in NOT_CALIBRATED]
    for least in (0.0, OPEN, THRESHOLD):
        now, after, runs = [], [], 0
        for load in models:
            advice = trusting(load)
            chance = advice.gain_probability or 0.0
            gamma = advice.gamma if chance > UNDECIDED else 0
            asks = max(least, 1e-9) <= chance <= UNDECIDED
            better = max((0, advice.named), key=load.speeds.__getitem__)
            runs += asks
            now.append(load.loss(gamma))
            after.append(load.loss(better if asks else gamma))
        means = (f"{np.mean(now):.2%}", f"{np.mean(after):.2%}")
        lines.append(table_row((f"{least:.1f}", str(runs), str(len(models)), *means)))
    return lines


def came_true(loads: Sequence[Load]) -> list[str]:
    """Returns a table of stated probabilities and the share of loads that gained, by kind."""
    lines = [table_head(("draft", "stated", "loads", "mean stated", "gained"))]
    kinds = sorted({load.row.traits.draft for load in loads})
    for kind in kinds:
        found = [load for load in loads if load.row.traits.draft == kind]
        stated = np.array([trusting(load).gain_probability or 0.0 for load in found])
        gained = np.array([load.speeds[trusting(load).named] > 1 for load in found])
        for low, high in pairwise(BOUNDS):
            within = (stated >= low) & ((stated < high) | (high == 1.0))
            if within.any():
                means = (f"{stated[within].mean():.2f}", f"{gained[within].mean():.0%}")
                cells = (kind, f"{low:.2f} to {high:.2f}", str(within.sum()), *means)
                lines.append(table_row(cells))
    return lines


def main() -> None:
    every, _ = read_rows()
    left_out = impossible(every)
    rows = [row for row in every if row.facts["target"] not in left_out]
    loads = loads_of(rows, ROOFLINE)
    newer = [load for load in loads if load.row.traits.engine != V0]
    for name, some in (("all", loads), ("without vLLM V0", newer)):
        print(f"{len(some)} loads, {name}:\n")
        print("\n".join([*losses(some), "", *asked(some), ""]))
    for kind in sorted({load.row.traits.draft for load in newer}):
        some = [load for load in newer if load.row.traits.draft == kind]
        print(f"{len(some)} loads, {kind}, without vLLM V0:\n")
        print("\n".join([*losses(some), ""]))
    print("\n".join([*came_true(newer), ""]))
    measured = loads_of(over_kernels(rows), KERNELS)
    covered = {id(load.row.facts) for load in measured}
    same = [load for load in newer if id(load.row.facts) in covered]
    for name, some in (
        ("by the roofline, without vLLM V0", newer),
        ("by the roofline, loads that kernels cover", same),
        ("by measured kernels", measured),
    ):
        for least in (1, SWEEP):
            found = [load for load in some if len(load.rows) >= least]
            if found:
                print(f"Knowledge of lengths, {name}, {least} K or more:\n")
                print("\n".join([*unknown_lengths(found), ""]))


if __name__ == "__main__":
    main()
