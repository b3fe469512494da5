"""On simulated servers whose step times jump, advice loses nothing that a run had shown."""

import numpy as np
import pytest
from numpy.typing import NDArray

from simulator.acceptance.acceptance import Iid
from simulator.choice.plan import plan
from simulator.cost.fitted.by_batch import cost_of_runs
from simulator.cost.fitted.runs import LoadPoint, Run

LOAD, NEAR, LONGEST, SERVERS = LoadPoint(1024), 0.01, 12, 60

Floats = NDArray[np.float64]


def speed_ups(alpha: float, jump: float, generator: np.random.Generator) -> Floats:
    """Returns noise-free speed-ups of K = 0 to 12. Blocks from some K on take `jump` more."""
    gammas = 1 + np.arange(LONGEST)
    check, draft = generator.uniform(0.05, 0.4), generator.uniform(0.03, 0.2)
    blocks = 1 + check + draft * gammas
    blocks[gammas >= generator.integers(1, LONGEST + 1)] *= 1 + jump
    return np.concatenate([[1.0], Iid(alpha).tokens_per_call(gammas) / blocks])


@pytest.mark.parametrize("jump", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("noise", [0.002, 0.02])
def test_advice_is_not_slower_than_the_best_run(jump: float, noise: float) -> None:
    """A K to serve is nearly the best run; where another is estimated faster, it is on average."""
    generator = np.random.default_rng(round(1e4 * (jump + noise)))
    gains: list[float] = []
    of_runs: list[float] = []
    for _ in range(SERVERS):
        alpha = generator.uniform(0.4, 0.95)
        truth = speed_ups(alpha, jump, generator)
        tried = generator.choice(np.arange(1, LONGEST + 1), generator.integers(1, 5), replace=False)
        runs = []
        for gamma in (0, *tried.tolist()):
            seconds = 0.01 / truth[gamma] * np.exp(noise * generator.standard_normal())
            length = float(Iid(alpha).tokens_per_call(gamma)) if gamma else 1.0
            runs.append(Run(LOAD, seconds, gamma, length, noise))
        planned = plan(Iid(alpha), cost_of_runs(runs), max_gamma=LONGEST, near=NEAR)
        ran, fastest = {run.gamma for run in runs}, planned.fastest_run
        kept = planned.advised_gamma if fastest is None else fastest.gamma
        assert kept in ran
        over_runs = np.log(truth / max(truth[gamma] for gamma in ran))
        of_runs.append(over_runs[kept])
        if planned.optimal_gamma not in {*ran, 0}:
            gains.append(over_runs[planned.optimal_gamma] - over_runs[kept])
    assert len(gains) > 5 < len(of_runs)
    assert np.mean(gains) > 0
    assert min(of_runs) > -NEAR - 4 * noise
