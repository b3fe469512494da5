"""Speculative beam search as a cost: its budget, its blocks, and a plan of it."""

import numpy as np
import pytest
from planned import planned

from simulator.acceptance.acceptance import Iid
from simulator.schemes.extensions import BeamCost

BEAMS = BeamCost(2, 4, {1: 1.1, 101: 11.1}, {1: 0.01, 101: 1.01})


def test_a_call_reads_the_beams_and_what_was_drafted() -> None:
    assert BeamCost(4, 8, {1: 1.0}, {1: 0.0}).budget([0, 1, 3]).tolist() == [4, 12, 28]


def test_a_block_is_drafted_from_w_beams_on_with_u_and_checked_in_one_call() -> None:
    assert BEAMS.drafting_seconds([0, 1, 3]) == pytest.approx([0, 0.02, 0.02 + 2 * 0.04])
    assert BEAMS.checking_seconds(3) == pytest.approx(1 + 0.1 * (2 + 4 * 3))
    assert BEAMS.baseline_seconds == pytest.approx(1.2)
    assert BEAMS.c == pytest.approx(0.04 / 1.2)


def test_a_plan_of_beams_takes_the_chance_that_the_drafts_hold_the_targets() -> None:
    """The steps of a call by where the first miss falls, term by term (A.4 with Eq. 1)."""
    r = 0.8
    found = planned(Iid(r), BEAMS, max_gamma=5)
    gamma = np.arange(1, 6)
    steps = [sum((k + 1) * r**k * (1 - r) for k in range(g)) + (g + 1) * r**g for g in gamma]
    block = 1 + 0.1 * (2 + 4 * gamma) + 0.02 + 0.04 * (gamma - 1)
    assert found.curve.expected_tokens == pytest.approx(steps)
    assert found.curve.improvement_factor == pytest.approx(np.array(steps) * 1.2 / block)


@pytest.mark.parametrize(
    ("width", "draft_width", "points", "message"),
    [
        (4, 2, {1: 1.0}, "draft_width must be at least width, 4, got 2"),
        (0, 2, {1: 1.0}, "width must be at least 1, got 0"),
        (1, 2, {2: 1.0}, "target_seconds must have the point 1"),
    ],
)
def test_bad_beams_are_refused(
    width: int, draft_width: int, points: dict[int, float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        BeamCost(width, draft_width, points, {1: 1.0})
