"""The verifier and the strict rule: edge cases, the randomness they use, and their device."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from reference.drafter import Draft
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Dense, Laws, OneHot, Sampling, concatenate, draw, overlap
from reference.policies import Fixed
from reference.records import Stopping
from reference.rules import Lenient, Rule, Strict, residual
from reference.scoring import Stretch, score_laws
from reference.verify import verify
from tests.reference.decoding import speculate
from tests.reference.enumeration import require_equal, walk_choices
from tests.reference.tabular import TabularModel

P = Dense(torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.0, 0.0, 1.0]]))
ONE_HOT_P = OneHot(torch.tensor([0, 2, 1]))


def verified(p: Laws, tokens: list[int], q: Laws) -> tuple[int, int]:
    """Returns how many tokens are accepted, and the token that follows them."""
    draft = Draft(torch.tensor(tokens, dtype=torch.int64), q)
    accepted, token = verify(p, draft, rule=Strict(), generator=torch.Generator().manual_seed(0))
    assert accepted.shape == token.shape == (1,)
    return int(accepted), int(token)


def test_gamma_zero_draws_from_the_targets_law() -> None:
    nothing = OneHot(torch.tensor([], dtype=torch.int64))
    assert verified(P.at(torch.tensor([2])), [], nothing) == (0, 2)


def test_a_perfect_draft_is_accepted_whole_and_followed_by_the_targets_token() -> None:
    drafted = P.first(2)
    for seed in range(20):
        tokens = drafted.draw(torch.Generator().manual_seed(seed)).tolist()
        assert verified(P, tokens, drafted) == (2, 2)


def test_the_first_rejection_ends_the_block_whatever_comes_after() -> None:
    q = OneHot(torch.tensor([2, 1]))
    accepted, token = verified(P, [2, 1], q)
    assert accepted == 0
    assert token in (0, 1)


@pytest.mark.parametrize(
    ("tokens", "expected"), [([0, 2], (2, 1)), ([0, 1], (1, 2)), ([1, 2], (0, 0))]
)
@pytest.mark.parametrize("dense", [True, False])
def test_a_greedy_target_keeps_its_own_tokens_alone(
    tokens: list[int], expected: tuple[int, int], dense: bool
) -> None:
    q: Laws = Dense(torch.full((2, 3), 1 / 3)) if dense else OneHot(torch.tensor(tokens))
    assert verified(ONE_HOT_P, tokens, q) == expected
    assert verified(Dense(ONE_HOT_P.dense(3)), tokens, q) == expected


def test_a_uniform_draw_of_exactly_zero_accepts_nothing_that_the_target_excludes() -> None:
    tokens = torch.tensor([2, 0])
    q = Dense(torch.full((2, 3), 1 / 3))
    assert Strict().accepts(P.first(2), q, tokens, torch.zeros(2)).tolist() == [False, True]


def test_the_largest_uniform_draw_accepts_equal_probabilities() -> None:
    almost_one = torch.full((2,), 1 - 2**-24)
    q = Dense(P.probabilities[:2].clone())
    assert Strict().accepts(P.first(2), q, torch.tensor([0, 2]), almost_one).tolist() == [True] * 2


def test_residual_is_the_mass_that_the_draft_lacks() -> None:
    p = torch.tensor([[0.5, 0.3, 0.2]])
    left = residual(p, Dense(torch.tensor([[0.2, 0.2, 0.6]])))
    torch.testing.assert_close(left, torch.tensor([[0.3, 0.1, 0.0]]))
    left = residual(p, OneHot(torch.tensor([1])))
    torch.testing.assert_close(left, torch.tensor([[0.5, 0.0, 0.2]]))


@pytest.mark.parametrize("q", [Dense(P.probabilities[:1]), OneHot(torch.tensor([0]))])
def test_a_residual_without_mass_is_the_targets_law(q: Laws) -> None:
    """After a rejection due to rounding only, 0/0 must not decide the next token."""
    p = q.dense(3)
    assert torch.equal(residual(p, q), p)


def test_a_position_without_anything_left_falls_back_to_p_whatever_the_others_have() -> None:
    p = torch.tensor([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])
    q = Dense(torch.tensor([[0.5, 0.5, 0.0], [0.5, 0.25, 0.25]]))
    assert residual(p, q).tolist() == [[0.5, 0.5, 0.0], [0.0, 0.0, 0.25]]
    certain = torch.cat([torch.tensor([[1.0, 0.0, 0.0]]), p[1:]])
    left = residual(certain, OneHot(torch.tensor([0, 2])))
    assert left.tolist() == [[1.0, 0.0, 0.0], [0.25, 0.25, 0.0]]


def test_rows_that_differ_by_rounding_leave_a_law_to_draw_from() -> None:
    p = torch.softmax(torch.randn(1, 5000, generator=torch.Generator().manual_seed(0)), dim=-1)
    q = (p * (1 + 1e-7 * torch.randn(1, 5000, generator=torch.Generator().manual_seed(1)))).clamp(0)
    left = residual(p, Dense(q))
    assert left.isfinite().all()
    assert left.sum() > 0
    assert (left >= 0).all()


def test_overlap_of_dense_and_one_hot_laws_agree() -> None:
    q = torch.tensor([[0.1, 0.9, 0.0], [0.2, 0.2, 0.6], [0.5, 0.25, 0.25]])
    expected = torch.minimum(P.probabilities, q).sum(dim=-1)
    torch.testing.assert_close(overlap(P, Dense(q)), expected)
    torch.testing.assert_close(
        overlap(ONE_HOT_P, Dense(q)), torch.minimum(ONE_HOT_P.dense(3), q).sum(dim=-1)
    )
    torch.testing.assert_close(overlap(Dense(q), ONE_HOT_P), overlap(ONE_HOT_P, Dense(q)))
    assert overlap(ONE_HOT_P, OneHot(torch.tensor([0, 1, 1]))).tolist() == [1, 0, 1]


def test_parts_are_joined_in_their_own_kind() -> None:
    joined = concatenate([ONE_HOT_P.first(1), ONE_HOT_P.at(torch.tensor([2]))])
    assert isinstance(joined, OneHot)
    assert joined.tokens.tolist() == [0, 1]
    joined = concatenate([P.first(1), P.at(torch.tensor([1, 2]))])
    assert isinstance(joined, Dense)
    assert torch.equal(joined.probabilities, P.probabilities)


class ExactMatch(Strict):
    """Keeps a drafted token if a draw of the target's own law equals it."""

    def accepts(self, p: Laws, q: Laws, tokens: Tensor, uniform: Tensor) -> Tensor:
        return uniform < p.of(tokens)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_exact_matching_is_the_strict_rule_of_certain_drafts_and_biased_for_sampled_ones(
    temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    p, q = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]
    walk = walk_choices(monkeypatch, {ExactMatch: lambda p, q: p})
    draft = ModelDrafter(TabularModel(lambda _: q, 3), Sampling(temperature), 3)
    target, rule = TabularModel(lambda _: p, 3), ExactMatch()
    law = walk.law(
        lambda: speculate(target, draft, [0], Sampling(), Fixed(1), Stopping(2), rule=rule).tokens[
            :1
        ]
    )
    expected = {(token,): mass for token, mass in enumerate(p)}
    if temperature == 0:
        require_equal(law, expected, tolerance=1e-7)
    else:
        assert abs(law[2,] - p[2]) > 0.05


GAMMA, VOCABULARY = 4, 5
SEEDS = range(40)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator("cpu").manual_seed(seed)


def random_rows(rows: int, seed: int) -> Dense:
    return Dense(torch.rand(rows, VOCABULARY, generator=generator(seed)).softmax(dim=-1))


def drafts(seed: int) -> list[Draft]:
    """Returns a draft drawn from its laws and a greedy one."""
    chance, q = generator(seed), random_rows(GAMMA, 100 + seed)
    certain = q.draw(chance)
    return [Draft(q.draw(chance), q), Draft(certain, OneHot(certain))]


@pytest.mark.parametrize("seed", SEEDS)
def test_as_many_stand_as_uniform_draws_of_the_generator_say(seed: int) -> None:
    p = random_rows(GAMMA + 1, seed)
    for draft in drafts(seed):
        accepted, token = verify(p, draft, rule=Strict(), generator=generator(seed))
        again = generator(seed)
        uniform = torch.rand(GAMMA, generator=again)
        stands = (uniform * draft.q.of(draft.tokens) < p.first(GAMMA).of(draft.tokens)).tolist()
        expected = [*stands, False].index(False)
        assert accepted.tolist() == [expected]
        row, following = torch.tensor([expected]), p
        if expected < GAMMA:
            following = Strict().replacement(p.first(GAMMA), draft.q, draft.tokens, row)
            row = torch.zeros(1, dtype=torch.int64)
        assert token.tolist() == following.at(row).draw(again).tolist()


def test_without_a_draft_the_token_is_the_generators_draw_from_the_target() -> None:
    tokens, draft = set(), Draft(torch.zeros(0, dtype=torch.int64), random_rows(0, 0))
    for seed in SEEDS:
        p = random_rows(1, seed)
        accepted, token = verify(p, draft, rule=Strict(), generator=generator(seed))
        assert accepted.tolist() == [0]
        assert token.tolist() == p.draw(generator(seed)).tolist()
        tokens.add(int(token))
    assert len(tokens) > 1


@pytest.mark.parametrize("greedy_target", [False, True])
def test_no_other_source_of_randomness_is_advanced(greedy_target: bool) -> None:
    dense = random_rows(GAMMA + 1, 3)
    p: Laws = OneHot(dense.probabilities.argmax(dim=-1)) if greedy_target else dense
    before = torch.get_rng_state()
    for draft in drafts(3):
        chance = generator()
        verify(p, draft, rule=Strict(), generator=chance)
        assert torch.equal(chance.get_state(), generator().get_state()) is greedy_target
    assert torch.equal(torch.get_rng_state(), before)


LOGITS = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))
DENSE = Dense(LOGITS.softmax(dim=-1))
CERTAIN = OneHot(LOGITS.argmax(dim=-1), LOGITS)
TOKENS = torch.tensor([5, 0, 3])
TEXT = [2, 2, 0, 1]


@pytest.mark.parametrize("rule", [Strict(), Lenient(0.5)], ids=["strict", "lenient"])
@pytest.mark.parametrize("p", [DENSE, CERTAIN], ids=["sampled", "greedy target"])
@pytest.mark.parametrize("q", [DENSE, CERTAIN], ids=["sampled", "greedy draft"])
def test_verification_stays_where_the_laws_lie(p: Laws, q: Laws, rule: Rule) -> None:
    for gamma in (0, 3):
        draft = Draft(TOKENS[:gamma], q.first(gamma))
        here = verify(p, draft, rule=rule, generator=generator())
        with torch.device("meta"):
            found = verify(p, draft, rule=rule, generator=generator())
        assert [part.tolist() for part in found] == [part.tolist() for part in here]


@pytest.mark.parametrize(
    "compute",
    [
        lambda: Sampling(repetition_penalty=2.0).laws(LOGITS, TEXT, [TOKENS]).dense(6),
        lambda: Sampling(0.0, repetition_penalty=2.0).laws(LOGITS, TEXT, [TOKENS]).dense(6),
        lambda: Sampling(0.7, top_k=3, top_p=0.9, min_p=0.1).laws(LOGITS, TEXT).dense(6),
        lambda: CERTAIN.dense(6),
        lambda: draw(DENSE.probabilities, generator()),
        lambda: overlap(DENSE, CERTAIN),
        lambda: residual(DENSE.probabilities, CERTAIN),
        lambda: score_laws(Stretch(TEXT, TEXT, DENSE), CERTAIN, ()).acceptance,
    ],
)
def test_laws_stay_where_the_logits_lie(compute: Callable[[], torch.Tensor]) -> None:
    here = compute()
    with torch.device("meta"):
        found = compute()
    assert found.tolist() == here.tolist()
