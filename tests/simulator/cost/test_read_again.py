"""Reading what stands again after a rejection: priced as drawing every block says."""

import numpy as np
import pytest

from simulator.acceptance.by_position import ByPosition
from simulator.acceptance.iid import Iid
from simulator.acceptance.recorded import Recorded
from simulator.acceptance.replay import block_lengths
from simulator.cost.curves import CostModel
from simulator.cost.ratio import Ratio
from simulator.cost.read_again import ReadAgain

TARGET = {1: 0.010, 2: 0.013, 4: 0.014, 8: 0.021}
COST = CostModel(target_seconds=TARGET, draft_seconds=0.001, overhead_seconds=0.002)


@pytest.mark.parametrize("gamma", [1, 2, 5])
def test_a_rejection_behind_a_tokens_adds_a_pass_over_one_more(gamma: int) -> None:
    rates = (0.9, 0.5, 0.7, 0.2, 0.6)
    again = ReadAgain(COST, ByPosition(rates).rejected)
    expected, stands = float(COST.block_seconds(gamma)), 1.0
    for accepted in range(gamma):
        passes = float(np.interp(accepted + 1, list(TARGET), list(TARGET.values())))
        expected += stands * (1 - rates[accepted]) * passes
        stands *= rates[accepted]
    assert float(again.block_seconds(gamma)) == pytest.approx(expected, rel=1e-12)
    assert float(again.block_seconds(0)) == float(COST.block_seconds(0))


def test_free_verification_reads_again_for_a_step_after_each_rejection() -> None:
    again = ReadAgain(Ratio(0.1), Iid(0.8).rejected)
    assert float(again.block_seconds(3)) == pytest.approx(1.3 + (1 - 0.8**3), rel=1e-12)
    assert not again.verification_free


def test_rejections_of_a_recorded_text_are_those_of_its_blocks() -> None:
    rates = np.full(4000, 0.6)
    blocks = {g: tuple(block_lengths(rates, g) / len(rates)) for g in (1, 2, 3)}
    found = Recorded(0.6, blocks).rejected(3)
    np.testing.assert_allclose(found, [0.4, 0.24, 0.144], atol=2e-3)
