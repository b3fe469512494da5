"""All that verification draws comes from the generator that it is given, and in the stated order.

The uniform draws of the acceptance tests come first, one for each drafted token, then one for the
token that follows; nothing is drawn where the target's laws are one-hot.
"""

import pytest
import torch

from reference.drafter import Draft
from reference.laws import Dense, Laws, OneHot
from reference.rules import Strict
from reference.verify import verify

GAMMA, VOCABULARY = 4, 5
SEEDS = range(40)


def random_rows(rows: int, seed: int) -> Dense:
    generator = torch.Generator().manual_seed(seed)
    return Dense(torch.rand(rows, VOCABULARY, generator=generator).softmax(dim=-1))


def drafts(seed: int) -> list[Draft]:
    """Returns a draft drawn from its laws and a greedy one."""
    generator = torch.Generator().manual_seed(seed)
    q = random_rows(GAMMA, 100 + seed)
    certain = q.draw(generator)
    return [Draft(q.draw(generator), q), Draft(certain, OneHot(certain))]


@pytest.mark.parametrize("seed", SEEDS)
def test_as_many_stand_as_uniform_draws_of_the_generator_say(seed: int) -> None:
    p = random_rows(GAMMA + 1, seed)
    for draft in drafts(seed):
        accepted, token = verify(
            p, draft, rule=Strict(), generator=torch.Generator().manual_seed(seed)
        )
        again = torch.Generator().manual_seed(seed)
        uniform = torch.rand(GAMMA, generator=again)
        stands = (uniform * draft.q.of(draft.tokens) < p.first(GAMMA).of(draft.tokens)).tolist()
        expected = [*stands, False].index(False)
        assert accepted.tolist() == [expected]
        row = torch.tensor([expected])
        following = (
            p.at(row)
            if expected == GAMMA
            else Strict().replacement(p.first(GAMMA), draft.q, draft.tokens, row)
        )
        assert token.tolist() == following.draw(again).tolist()


def test_without_a_draft_the_token_is_the_generators_draw_from_the_target() -> None:
    tokens = set()
    for seed in SEEDS:
        p = random_rows(1, seed)
        draft = Draft(torch.zeros(0, dtype=torch.int64), random_rows(0, 0))
        accepted, token = verify(
            p, draft, rule=Strict(), generator=torch.Generator().manual_seed(seed)
        )
        assert accepted.tolist() == [0]
        assert token.tolist() == p.draw(torch.Generator().manual_seed(seed)).tolist()
        tokens.add(int(token))
    assert len(tokens) > 1


@pytest.mark.parametrize("greedy_target", [False, True])
def test_no_other_source_of_randomness_is_advanced(greedy_target: bool) -> None:
    dense = random_rows(GAMMA + 1, 3)
    p: Laws = OneHot(dense.probabilities.argmax(dim=-1)) if greedy_target else dense
    before = torch.get_rng_state()
    for draft in drafts(3):
        generator = torch.Generator().manual_seed(0)
        start = generator.get_state()
        verify(p, draft, rule=Strict(), generator=generator)
        drawn = not torch.equal(generator.get_state(), start)
        assert drawn is not greedy_target
    assert torch.equal(torch.get_rng_state(), before)
