"""The random drafter (Leviathan et al. 2023, section 3.6) is lossless, and its alpha is known."""

from collections import Counter

import pytest
import torch
from chi_squared import require_law

from reference.drafters.random_drafter import RandomDrafter
from reference.laws import Dense, Laws, Sampling
from reference.policies import Fixed, FixedLength
from reference.scoring import ScoreOptions, Stretch

CPU = torch.device("cpu")
LAW = [0.55, 0.3, 0.1, 0.05]


class Never(FixedLength):
    """Never drafts a second token."""

    name = "never"

    def gamma(self, blocks: object) -> int:
        return 5

    def goes_on(self, token: torch.Tensor, q: Laws) -> bool:
        return False


def test_proposals_are_uniform_and_say_so() -> None:
    drafter = RandomDrafter(4, CPU)
    generator = torch.Generator().manual_seed(0)
    draft = drafter.propose([1], 4000, Fixed(4000), generator)
    torch.testing.assert_close(draft.q.dense(4), torch.full((4000, 4), 0.25))
    require_law(Counter(draft.tokens.tolist()), dict.fromkeys(range(4), 0.25))


def test_a_policy_can_stop_it() -> None:
    draft = RandomDrafter(4, CPU).propose([1], 5, Never(), torch.Generator())
    assert len(draft.tokens) == 1
    assert isinstance(draft.q, Dense)


def test_nothing_asked_for_is_nothing_drafted() -> None:
    draft = RandomDrafter(4, CPU).propose([1], 0, Fixed(0), torch.Generator())
    assert draft.tokens.shape == (0,)
    assert draft.tokens.dtype == torch.int64


def test_scores_are_the_overlap_with_the_uniform_law() -> None:
    p = Dense(torch.tensor([LAW, LAW], dtype=torch.float64))
    drafter = RandomDrafter(4, CPU)
    samplings = [Sampling(), Sampling(0.0)]
    scores, greedy = drafter.score(Stretch([0], [0, 3], p), ScoreOptions(samplings, [0.5], 4))
    overlap = 0.25 + 0.25 + 0.1 + 0.05
    assert scores.beta.tolist() == pytest.approx([overlap, overlap])
    assert scores.acceptance.tolist() == pytest.approx([0.25 / 0.55, 1.0])
    assert scores.lenient_beta.flatten().tolist() == pytest.approx([0.25 + 0.25 + 0.2 + 0.1] * 2)
    assert greedy is scores  # it has nothing to set
