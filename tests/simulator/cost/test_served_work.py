"""The work of steps: the roofline itself where no factor adds to it, and every factor by hand."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.cost.fitted.machine import PARAMETERS, RooflineMachine, seconds_of
from simulator.cost.fitted.posterior import FittedMachine
from simulator.cost.fitted.runs import LoadPoint
from simulator.cost.roofline.deployment import roofline_cost
from simulator.cost.roofline.sharing import Conditions
from tests.simulator.served_machines import DRAFT, MIXTURE, SERVED, cost_at, shape


def logs(**values: float) -> np.ndarray:
    """Returns the parameters' logarithms: those that are not named add nothing."""
    return np.log([values.get(name, 1e-300) for name in PARAMETERS])


ROOFS = ("roof", "experts", "cache")


@pytest.mark.parametrize("machine", [SERVED, MIXTURE])
@pytest.mark.parametrize("load", [LoadPoint(0), LoadPoint(3000, batch=8)])
def test_without_engine_overheads_a_block_takes_the_rooflines_time(
    machine: RooflineMachine, load: LoadPoint
) -> None:
    conditions = Conditions(efficiency=0.5, layer_overhead_seconds=1e-5)
    roofline = roofline_cost(
        replace(machine.deployment, conditions=conditions),
        context=load.context,
        batch=load.batch,
        max_gamma=8,
    )
    factors = logs(layer=1e-5, **dict.fromkeys(ROOFS, 2.0))
    cost = cost_at(machine, load, factors)
    gammas = np.arange(1, 9)
    assert cost.baseline_seconds == pytest.approx(roofline.baseline_seconds)
    assert cost.block_seconds(gammas) == pytest.approx(roofline.block_seconds(gammas))
    assert cost.drafting_seconds(gammas) == pytest.approx(roofline.drafting_seconds(gammas))


def test_every_factor_counts_its_own_work() -> None:
    load = LoadPoint(500, batch=4)
    block = MIXTURE.block_work(load, 3)
    plain = MIXTURE.plain_work(load)
    of = {name: index for index, name in enumerate(PARAMETERS)}
    assert block[of["layer"]] == 10 + 3
    assert (block[of["block"]], block[of["draft"]], block[of["plain"]]) == (1, 3, 0)
    assert (plain[of["block"]], plain[of["draft"]], plain[of["plain"]]) == (0, 0, 1)
    assert (block[of["sequence"]], plain[of["sequence"]]) == (16, 4)
    # A token multiplies the dense weights and 4 of 64 experts' at 1e15 operations a second.
    token = 2 * (1e9 + 8e9 * 4 / 64) / 1e15
    assert block[of["arithmetic"]] == pytest.approx(15 * token)
    assert MIXTURE.prompt_work(8)[of["prompt"]] == pytest.approx(8 * token)
    cached = [4 * 10 * (500 + n) * 1000 / 1e12 for n in (1, 4)]
    assert block[of["cache"]] == pytest.approx(cached[1])
    assert block[of["recache"]] == pytest.approx(3 * cached[0])
    # 64 · (1 - (1 - 4/64)^m) experts are read by m tokens.
    read = [16e9 / 1e12 * (1 - (1 - 4 / 64) ** m) for m in (4, 16)]
    assert block[of["experts"]] == pytest.approx(read[1] - read[0])


def test_a_parallel_draft_takes_one_pass_and_a_look_up_none() -> None:
    parallel = RooflineMachine(replace(SERVED.deployment, draft=replace(DRAFT, parallel=True)))
    of = PARAMETERS.index("draft")
    assert parallel.drafting_work(LoadPoint(0), 7)[of] == 1
    nothing = replace(DRAFT, step=replace(shape(layers=0), caches=()), parallel=True)
    look_up = RooflineMachine(replace(SERVED.deployment, draft=nothing))
    assert not look_up.drafting_work(LoadPoint(0), 7).any()


def test_a_tree_is_verified_by_its_tokens_and_drafted_by_its_width() -> None:
    of = PARAMETERS.index("sequence")
    assert SERVED.checking_work(LoadPoint(0, batch=2), 16)[of] == 32
    chain, tree = (SERVED.drafting_work(LoadPoint(0), 5, width) for width in (1, 4))
    assert tree[PARAMETERS.index("draft")] == 5
    assert tree[PARAMETERS.index("roof")] > chain[PARAMETERS.index("roof")]


def test_a_token_is_a_share_of_a_block() -> None:
    token = SERVED.token_work(LoadPoint(100, batch=2), 3, 2.5)
    assert seconds_of(token, logs(block=1.0)) == pytest.approx(1 / 2.5)


def test_all_reduces_are_fixed() -> None:
    two = RooflineMachine(replace(SERVED.deployment, conditions=Conditions(tp=2)))
    once = 1e-5 + 1000 * 2 / 1e11
    assert two.plain_work(LoadPoint(0))[-1] == pytest.approx(20 * once)
    assert SERVED.plain_work(LoadPoint(0))[-1] == 0


def test_an_unseen_machine_has_a_step_a_block_and_a_token() -> None:
    machine = FittedMachine()
    factors = logs(roof=5.0, block=1.0, draft=0.5)
    assert seconds_of(machine.plain_work(LoadPoint(0)), factors) == pytest.approx(5)
    assert seconds_of(machine.block_work(LoadPoint(0), 4), factors) == pytest.approx(8)
