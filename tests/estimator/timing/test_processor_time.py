"""The time of the processor in place of the wall's."""

import pytest
import torch

from estimator.timing.turns import next_block, processor_clock
from reference.records import Block

BLOCK = Block(1, (5,), (5, 7), 1, 0.1, 0.3, 0.1, None)


def test_a_block_takes_what_its_clock_says_its_parts_in_proportion() -> None:
    """Put aside for half of the wall's time, each part took half as long."""
    times = iter([3.0, 3.25])
    block = next_block(iter([BLOCK]), lambda: next(times))
    assert block.seconds == pytest.approx(0.25)
    assert (block.draft_seconds, block.verify_seconds) == pytest.approx((0.05, 0.15))
    assert next_block(iter([BLOCK]), None) is BLOCK


@pytest.mark.parametrize(("device", "threads"), [("cuda", 1), ("cpu", 2)])
def test_what_waits_for_others_is_timed_by_the_wall(
    device: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    assert processor_clock(torch.device(device)) is None
