"""Runs of models with recurrent layers: repeated readings, and several texts at once."""

from itertools import pairwise

import pytest
import torch

from estimator.profiles.under_load import require_load
from estimator.timing.batched import decode_batch
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling
from reference.policies import Fixed
from reference.records import Stopping
from simulator.acceptance.acceptance import PositionRates
from simulator.cost.curves import CostModel
from tests.reference.decoding import alone, speculate
from tests.reference.recurrent_models import FAMILIES, PROMPT, VOCABULARY, model, near

GREEDY, GAMMA = Sampling(0.0), 3


@pytest.mark.parametrize("family", ["lfm2", "qwen3_5_text"])
def test_the_tokens_that_blocks_are_priced_to_read_again_are_those_counted(family: str) -> None:
    target = model(family)
    before = target.read_again
    drafter = ModelDrafter(near(family), GREEDY, VOCABULARY)
    blocks = speculate(target, drafter, PROMPT, GREEDY, Fixed(GAMMA), Stopping(30)).blocks
    accepted = [block.accepted for block in blocks if len(block.drafted) == GAMMA]
    counted = target.read_again - before
    # The last blocks leave room for the text's end.
    for block in blocks[len(accepted) :]:
        counted -= block.accepted + 1 if block.accepted < len(block.drafted) else 0
    reached = [sum(each >= position for each in accepted) for position in range(GAMMA + 1)]
    rates = [then / first for first, then in pairwise(reached) if first]
    # A pass takes one for each token.
    cost = CostModel(target_seconds={1: 1, 2: 2}, draft_seconds=0.01, overhead_seconds=0)
    again = cost.reading_again(PositionRates(tuple(rates)).rejected)
    more = again.checking_seconds(GAMMA) - cost.checking_seconds(GAMMA)
    assert len(accepted) * more == pytest.approx(counted, rel=1e-9)
    assert counted > 5


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_written_at_once_are_those_written_one_by_one(family: str) -> None:
    target, stopping = model(family), Stopping(6)
    prompts = [PROMPT, [4, 6], [11, 12, 13, 14, 2, 9, 1, 7, 30]]
    generators = [torch.Generator() for _ in prompts]
    found = decode_batch(target, prompts, sampling=GREEDY, stopping=stopping, generators=generators)
    assert found == [alone(target, prompt, GREEDY, stopping).tokens for prompt in prompts]


def test_passes_over_a_batch_are_not_timed() -> None:
    target = model("lfm2")
    with pytest.raises(ValueError, match=r"batch must be of models without recurrent .*, got lfm2"):
        require_load(target, target, loads=((2, 4),), max_gamma=2, draft_name="lfm2")
