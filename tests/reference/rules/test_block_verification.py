"""Block verification: texts have the target's law, and never are fewer tokens accepted."""

import itertools
import math
import random

import pytest
import torch

from reference.drafter import Draft
from reference.laws import Dense, OneHot, Sampling
from reference.policies import Fixed
from reference.rules import BlockVerification, Strict, shares
from reference.verify import verify
from tests.reference.combinations import (
    DRAFT,
    DRAFTERS,
    POLICIES,
    PROMPT,
    SETTINGS,
    TARGET,
    model_drafter,
    once_each,
    table_text,
)
from tests.reference.enumeration import (
    STRICT_ACCEPTANCE,
    Rows,
    own_law,
    require_equal,
    require_own_law,
    walk_choices,
)
from tests.reference.plain_block_verification import beginnings
from tests.reference.plain_laws import normalised

RULE = BlockVerification()


@pytest.mark.parametrize(("drafter", "policy", "setting"), once_each(list(DRAFTERS)))
def test_law_of_texts_is_the_targets(
    drafter: str, policy: str, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampling = SETTINGS[setting]
    # Where most tokens are possible at each of two stages, there is no time for longer texts.
    many = "hierarchical" in drafter and setting in ("plain", "temperature", "repetition penalty")
    new_tokens = 3 if many or drafter == "random" else 4

    def run() -> tuple[int, ...]:
        made = DRAFTERS[drafter](sampling)
        return table_text(made, sampling, POLICIES[policy], new_tokens, rule=RULE).tokens

    # The hierarchies' second stage has the strict rule.
    walk = walk_choices(monkeypatch, STRICT_ACCEPTANCE, joint={BlockVerification: beginnings})
    tolerance = 1e-6 if drafter == "random" else 1e-12
    require_own_law(
        walk.law(run), TARGET, sampling, PROMPT, new_tokens=new_tokens, tolerance=tolerance
    )


def drafts(q: Rows) -> list[tuple[tuple[int, ...], float]]:
    """Returns every draft with its probability."""
    texts = itertools.product(range(len(q[0])), repeat=len(q))
    odds = [(text, math.prod(row[x] for row, x in zip(q, text, strict=True))) for text in texts]
    return [(text, mass) for text, mass in odds if mass > 0]


def expected_accepted(p: Rows, q: Rows) -> tuple[float, float]:
    """Returns the mean number of accepted tokens: as a whole (by Eq. 4), and token by token."""
    whole = single = 0.0
    for text, mass in drafts(q):
        missed, chances = 1.0, beginnings(p, q, text)
        for length in range(len(text), 0, -1):
            whole += mass * missed * chances[length - 1] * length
            missed *= 1 - chances[length - 1]
        ratios = [min(1.0, p[i][x] / q[i][x]) for i, x in enumerate(text)]
        single += mass * sum(math.prod(ratios[:length]) for length in range(1, len(text) + 1))
    return whole, single


def random_rows(source: random.Random, positions: int, vocabulary: int) -> list[list[float]]:
    return [normalised([source.random() ** 3 for _ in range(vocabulary)]) for _ in range(positions)]


def test_never_do_fewer_tokens_stand_than_token_by_token() -> None:
    source = random.Random(0)
    more = 0
    for _ in range(300):
        gamma, vocabulary = source.randint(1, 4), source.randint(2, 4)
        p, q = (random_rows(source, gamma, vocabulary) for _ in range(2))
        whole, single = expected_accepted(p, q)
        assert whole >= single - 1e-12
        if gamma == 1:
            assert whole == pytest.approx(single, abs=1e-12)
        more += whole > single + 1e-3
    assert more > 100


def test_the_papers_example() -> None:
    """Sun et al. 2024, section 2: 10/9 tokens accepted token by token, 11/9 as a whole."""
    p, q = [[1 / 3, 2 / 3]] * 2, [[2 / 3, 1 / 3]] * 2
    assert expected_accepted(p, q) == pytest.approx((11 / 9, 10 / 9))


def test_at_least_i_tokens_stand_with_the_share_that_is_left() -> None:
    """The closed form that the simulator's replay rests on, against Eq. 4.

    A uniform draw just below Eq. 4's chance accepts the beginning, one just above does not.
    """
    source = random.Random(1)
    for _ in range(20):
        p, q = (random_rows(source, 3, 3) for _ in range(2))
        for text, _mass in drafts(q):
            tokens = torch.tensor(text)
            left = shares(Dense(torch.tensor(p)), Dense(torch.tensor(q)), tokens)
            # Averaged over their continuations: the chance that a longer beginning is accepted.
            for length in (1, 2, 3):
                stands = 0.0
                for tail, mass in drafts(q[length:]) if length < 3 else [((), 1.0)]:
                    chances = beginnings(p, q, (*text[:length], *tail))
                    stands += mass * (1 - math.prod(1 - h for h in chances[length - 1 :]))
                assert stands == pytest.approx(float(left[length]), abs=1e-5)
            target, draft = (Dense(torch.tensor(rows, dtype=torch.float64)) for rows in (p, q))
            chances, judged = beginnings(p, q, text), sum(text) % 3
            for nearly in (1 - 1e-9, 1 + 1e-9):
                uniform = [1 - 2**-24] * 3
                uniform[judged] = nearly * chances[judged]
                accepted = [draw < chance for draw, chance in zip(uniform, chances, strict=True)]
                draws = torch.tensor(uniform, dtype=torch.float64)
                verdict = RULE.accepts(target, draft, tokens, draws)
                assert verdict.tolist() == [any(accepted[place:]) for place in range(3)]


@pytest.mark.parametrize("certain", ["draft", "target"])
def test_where_a_law_is_certain_the_rule_is_the_strict_one(certain: str) -> None:
    generator = torch.Generator().manual_seed(0)
    for _ in range(200):
        rows = torch.rand(4, 5, generator=generator).pow(3)
        p = Dense(rows / rows.sum(dim=1, keepdim=True))
        tokens = p.draw(generator)
        if certain == "target":
            own = OneHot(p.probabilities[:3].argmax(dim=-1))
            uniform = torch.rand(3, generator=generator)
            q = Dense(p.probabilities[1:].roll(1, dims=1))
            expected = Strict().accepts(own, q, tokens[:3], uniform).long().cumprod(dim=0)
            assert RULE.accepts(own, q, tokens[:3], uniform).long().tolist() == expected.tolist()
        else:
            left = shares(p.first(3), OneHot(tokens[:3]), tokens[:3])
            torch.testing.assert_close(left[1:], p.first(3).of(tokens[:3]).cumprod(dim=0))


def test_a_drafted_token_that_the_target_excludes_never_stands() -> None:
    """Not even by uniform draws of exactly 0; nor does what follows it."""
    p = Dense(torch.tensor([[0.0, 1.0], [0.5, 0.5]]))
    q = Dense(torch.full((2, 2), 0.5))
    assert RULE.accepts(p, q, torch.tensor([0, 1]), torch.zeros(2)).tolist() == [False, False]
    # Only rounding can draft a token that neither law has.
    neither = Dense(torch.tensor([[0.0, 1.0], [0.0, 1.0]]))
    assert RULE.accepts(p, neither, torch.tensor([0, 1]), torch.zeros(2)).tolist() == [False] * 2
    greedy = OneHot(torch.tensor([0, 1]))
    assert RULE.accepts(greedy, q, torch.tensor([0, 0]), torch.zeros(2)).tolist() == [True, False]


def test_where_the_laws_are_equal_all_stands_under_the_largest_uniform_draw() -> None:
    rows = Dense(torch.tensor([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]))
    tokens = torch.tensor([1, 0, 1])
    almost_one = torch.full((3,), 1 - 2**-24)
    assert RULE.accepts(rows, rows, tokens, almost_one).tolist() == [True] * 3


def test_a_token_that_rounding_rejects_takes_no_earlier_one_with_it() -> None:
    half = torch.tensor([[0.5, 0.5]])
    # The token's ratio rounds to the largest number below 1, which is also the largest draw.
    rounded = torch.tensor([[0.5 - 2**-25, 0.5]])
    p, q = Dense(torch.cat([half, rounded])), Dense(half.expand(2, -1))
    uniform = torch.tensor([0.5, 1 - 2**-24])
    assert RULE.accepts(p, q, torch.tensor([0, 0]), uniform).tolist() == [True, False]


def test_a_later_token_of_large_ratio_redeems_an_earlier_one() -> None:
    """Drafted: ratios 1/2, then 2. Token by token half of these drafts are lost."""
    p = Dense(torch.tensor([[1 / 3, 2 / 3], [1 / 3, 2 / 3], [0.5, 0.5]]))
    q = Dense(torch.tensor([[2 / 3, 1 / 3], [2 / 3, 1 / 3]]))
    draft = Draft(torch.tensor([0, 1]), q)
    accepted = [
        verify(p, draft, rule=rule, generator=torch.Generator().manual_seed(seed))[0].item()
        for rule in (RULE, Strict())
        for seed in range(40)
    ]
    assert accepted[:40] == [2] * 40
    assert set(accepted[40:]) == {0, 2}


def test_a_rule_that_draws_the_correction_from_the_wrong_law_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The token-wise residual after a beginning that was accepted as a whole."""
    monkeypatch.setattr(BlockVerification, "replacement", Strict.replacement)

    def run() -> tuple[int, ...]:
        drafter = model_drafter(DRAFT, Sampling())
        return table_text(drafter, Sampling(), Fixed(2), 3, rule=RULE).tokens

    law = walk_choices(monkeypatch, {}, joint={BlockVerification: beginnings}).law(run)
    with pytest.raises(AssertionError):
        require_equal(law, own_law(TARGET, PROMPT, new_tokens=3), tolerance=1e-3)
