"""Lenient acceptance: its stated law, its bound, and its argmax form at temperature 0."""

import random
from collections import Counter
from collections.abc import Iterator

import pytest
import torch

from reference.drafter import Draft
from reference.laws import Dense, Laws, OneHot, Sampling
from reference.policies import Fixed
from reference.records import Stopping
from reference.rules import BlockVerification, Lenient, Strict
from reference.verify import verify
from tests.reference.chi_squared import require_law
from tests.reference.decoding import alone, speculate_tables
from tests.reference.enumeration import Text, require_equal, walk_choices
from tests.reference.plain_laws import normalised, random_table
from tests.reference.tabular import Table, TabularModel, constant

VOCABULARY = 3
PROMPT = [0]
LENIENCES = (1.0, 0.6, 0.25, 0.01)
PLAIN, GREEDY = Sampling(), Sampling(0.0)

Law = list[float]


def random_pairs(vocabulary: int, count: int) -> Iterator[tuple[Law, Law]]:
    """Yields pairs of random laws with zeros, and some that coincide or exclude each other."""
    yield [0.5, 0.5, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]
    yield [0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.1, 0.9]
    source = random.Random(0)
    for _ in range(count):
        pair = []
        for _ in range(2):
            weights = [source.random() ** 3 for _ in range(vocabulary)]
            weights[source.randrange(vocabulary)] = 0.0
            pair.append(normalised(weights))
        yield pair[0], pair[1]


def stated_law(p: Law, q: Law, lenience: float) -> Law:
    """Returns the law of a lenient block's token, as the rule's documentation states it."""
    kept = [min(y, x / lenience) for x, y in zip(p, q, strict=True)]
    excess = [max(0.0, x - y) for x, y in zip(p, q, strict=True)]
    if sum(excess) == 0:
        return kept
    rejected = 1 - sum(kept)
    return [k + rejected * e / sum(excess) for k, e in zip(kept, excess, strict=True)]


@pytest.mark.parametrize("lenience", LENIENCES)
def test_no_token_is_emitted_with_more_than_its_probability_over_lenience(lenience: float) -> None:
    for p, q in random_pairs(4, 300):
        law = stated_law(p, q, lenience)
        assert sum(law) == pytest.approx(1)
        for emitted, own, drafted in zip(law, p, q, strict=True):
            assert emitted <= own / lenience + 1e-12
            if own > drafted:
                assert emitted <= own + 1e-12


@pytest.mark.parametrize("lenience", LENIENCES)
def test_no_other_replacement_is_nearer_to_the_targets_law(lenience: float) -> None:
    """The mass above p is what was accepted of it: a replacement can only add to that."""
    for p, q in random_pairs(4, 300):
        distance = sum(max(0.0, e - o) for e, o in zip(stated_law(p, q, lenience), p, strict=True))
        accepted = [min(y, x / lenience) for x, y in zip(p, q, strict=True)]
        assert distance == pytest.approx(
            sum(max(0.0, k - o) for k, o in zip(accepted, p, strict=True)), abs=1e-12
        )


def test_replacing_by_the_targets_law_would_break_the_bound() -> None:
    """The failure that the stated replacement prevents, on one pair."""
    p, q, lenience = [0.2, 0.8], [0.9, 0.1], 0.5
    kept = [min(y, x / lenience) for x, y in zip(p, q, strict=True)]
    assert kept[0] + (1 - sum(kept)) * p[0] > p[0] / lenience


def block_law(
    target: Table, draft: Table, *, lenience: float, gamma: int, new_tokens: int
) -> dict[Text, float]:
    """Returns the law of lenient decoding's texts, written down independently of the decoder.

    A drafted position emits a token of mass min(q, p/l) and goes on, or replaces a rejected one
    and ends the block; the position after the draft emits a token of the target's law.
    """
    law: dict[Text, float] = {}
    waiting: list[tuple[Text, int, float]] = [((), 0, 1.0)]
    while waiting:
        text, drafted, mass = waiting.pop()
        if len(text) == new_tokens:
            law[text] = law.get(text, 0.0) + mass
            continue
        # A block drafts no more than leaves room for the target's own token.
        room = new_tokens - (len(text) - drafted) - 1
        p, q = target([*PROMPT, *text]), draft([*PROMPT, *text])
        if drafted == min(gamma, room):
            waiting += [((*text, x), 0, mass * p[x]) for x in range(VOCABULARY) if p[x] > 0]
            continue
        kept = [min(q[x], p[x] / lenience) for x in range(VOCABULARY)]
        stated = stated_law(list(p), list(q), lenience)
        for x in range(VOCABULARY):
            if kept[x] > 0:
                waiting.append(((*text, x), drafted + 1, mass * kept[x]))
            if stated[x] > kept[x]:
                waiting.append(((*text, x), 0, mass * (stated[x] - kept[x])))
    return law


@pytest.mark.parametrize("gamma", [1, 2])
@pytest.mark.parametrize("lenience", LENIENCES)
def test_texts_have_the_stated_law(
    lenience: float, gamma: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, draft = random_table(1, VOCABULARY), random_table(2, VOCABULARY, zeros=1)
    walk = walk_choices(monkeypatch, {Lenient: lambda p, q: min(1.0, p / (lenience * q))})
    rule = Lenient(lenience)
    law = walk.law(
        lambda: speculate_tables(target, draft, PLAIN, Fixed(gamma), 4, rule=rule).tokens
    )
    expected = block_law(target, draft, lenience=lenience, gamma=gamma, new_tokens=4)
    require_equal(law, expected, tolerance=1e-12)


def test_sampled_texts_have_the_stated_law() -> None:
    """A chi-squared test that a correct decoder fails with odds of one in a million."""
    target, draft = random_table(1, VOCABULARY), random_table(2, VOCABULARY)
    generator = torch.Generator().manual_seed(0)
    rule = Lenient(0.4)
    counts: Counter[Text] = Counter(
        speculate_tables(target, draft, PLAIN, Fixed(2), 3, rule=rule, generator=generator).tokens
        for _ in range(600)
    )
    require_law(counts, block_law(target, draft, lenience=0.4, gamma=2, new_tokens=3))


def test_lenience_one_is_the_strict_rule() -> None:
    generator = torch.Generator().manual_seed(1)
    for p, q in random_pairs(4, 30):
        rows_p, rows_q = Dense(torch.tensor([p, p])), Dense(torch.tensor([q, q]))
        tokens, uniform = rows_q.draw(generator), torch.rand(2, generator=generator)
        lenient, strict = Lenient(1.0), Strict()
        assert torch.equal(
            lenient.accepts(rows_p, rows_q, tokens, uniform),
            strict.accepts(rows_p, rows_q, tokens, uniform),
        )
        for place in torch.arange(2).split(1):
            assert torch.equal(
                lenient.replacement(rows_p, rows_q, tokens, place).probabilities,
                strict.replacement(rows_p, rows_q, tokens, place).probabilities,
            )


def accepted_argmax(rule: Lenient, draft_law: Laws | None = None) -> list[bool]:
    """Returns which of four tokens a rule accepts where the target's law is .4, .3, .2, .1."""
    logits = torch.tensor([0.4, 0.3, 0.2, 0.1]).log().expand(4, -1)
    p = Sampling(0.0).laws(logits, [0])
    tokens = torch.arange(4)
    q = OneHot(tokens) if draft_law is None else draft_law
    return rule.accepts(p, q, tokens, torch.zeros(4)).tolist()


def test_at_temperature_zero_tokens_near_the_largest_are_accepted() -> None:
    assert accepted_argmax(Lenient(1.0)) == [True, False, False, False]
    assert accepted_argmax(Lenient(0.74)) == [True, True, False, False]
    assert accepted_argmax(Lenient(0.49)) == [True, True, True, False]
    assert accepted_argmax(Lenient(0.24)) == [True, True, True, True]


def test_at_temperature_zero_the_drafts_law_does_not_matter() -> None:
    q = Dense(torch.full((4, 4), 0.25))
    assert accepted_argmax(Lenient(0.49), q) == [True, True, True, False]


@pytest.mark.parametrize(
    ("token", "lenience", "accepted"),
    [(0, 0.60, True), (0, 0.61, False), (2, 0.40, True), (2, 0.41, False)],
)
def test_at_temperature_zero_the_ratio_is_of_penalised_logits(
    token: int, lenience: float, accepted: bool
) -> None:
    """Token 0, in the text, has its logit halved: e^(1 - 1.5) = 0.607; token 2: 0.407."""
    p = Sampling(0.0, repetition_penalty=2.0).laws(torch.tensor([[2.0, 1.5, 0.6]]), [0])
    tokens = torch.tensor([token])
    verdict = Lenient(lenience).accepts(p, OneHot(tokens), tokens, torch.zeros(1))
    assert verdict.tolist() == [accepted]


def test_a_one_hot_target_without_logits_is_judged_strictly() -> None:
    p = OneHot(torch.tensor([3, 1]))
    tokens = torch.tensor([3, 2])
    assert Lenient(0.1).accepts(p, OneHot(tokens), tokens, torch.zeros(2)).tolist() == [True, False]


def test_a_lenient_greedy_text_keeps_near_tokens_and_replaces_others_by_the_largest() -> None:
    for drafted, lenience, emitted in ((2, 0.7, 2), (2, 0.9, 1), (0, 0.7, 1)):
        draft = [float(token == drafted) for token in range(3)]
        generation = speculate_tables(
            constant([0.1, 0.5, 0.4]), constant(draft), GREEDY, Fixed(2), 3,
            rule=Lenient(lenience),
        )  # fmt: skip
        # The third token is the target's own, and its largest.
        assert generation.tokens == (emitted, emitted, 1)


def test_strict_greedy_decoding_is_not_moved_by_near_ties() -> None:
    p, q = [0.1, 0.45001, 0.44999], [0.1, 0.44999, 0.45001]
    generation = speculate_tables(lambda _: p, lambda _: q, GREEDY, Fixed(2), 5)
    own = alone(TabularModel(lambda _: p, VOCABULARY), PROMPT, GREEDY, Stopping(5))
    assert generation.tokens == own.tokens == (1,) * 5


def test_the_lossy_rule_says_so() -> None:
    rules = Strict(), BlockVerification(), Lenient(0.5)
    assert [rule.name for rule in rules] == ["strict", "block", "lenient 0.5"]
    assert [rule.lossless for rule in rules] == [True, True, False]


@pytest.mark.parametrize("lenience", [0.0, -0.1, 1.1, float("nan")])
def test_lenience_out_of_range_is_refused(lenience: float) -> None:
    with pytest.raises(ValueError, match=r"lenience must lie in \(0, 1\], got"):
        Lenient(lenience)


def test_a_drafted_token_that_the_target_excludes_is_never_accepted() -> None:
    """Not even by a uniform draw of exactly 0 and the least lenience."""
    p = Dense(torch.tensor([[0.0, 1.0], [0.0, 1.0]]))
    q = Dense(torch.tensor([[1.0, 0.0]]))
    draft = Draft(torch.tensor([0]), q)
    for rule in (Strict(), Lenient(1e-6)):
        assert not rule.accepts(p.first(1), q, draft.tokens, torch.zeros(1)).item()
        accepted, token = verify(p, draft, rule=rule, generator=torch.Generator())
        assert (accepted.item(), token.item()) == (0, 1)
