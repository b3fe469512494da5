"""BiLD in the one loop is Algorithm 1 of Kim et al. 2023, followed line by line without caches."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from reference.drafter import Draft
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Dense, Laws, OneHot, Sampling, draw
from reference.records import Generation, Stopping, StopStrings
from reference.speculative import Subject
from studies.bild.decoder import (
    DISTANCES,
    Fallback,
    Rollback,
    bild_session,
    read_part,
    unread_ending,
)
from tests.reference.decoding import alone
from tests.reference.plain_laws import plain_law, random_table
from tests.reference.tabular import Table, TabularModel

VOCABULARY = 4
PROMPT = [0]
LARGE, SMALL = random_table(1, VOCABULARY), random_table(2, VOCABULARY)
SAMPLINGS = {"greedy": Sampling(0.0), "all": Sampling(), "nucleus 0.8": Sampling(top_p=0.8)}


def longhand(kind: str, p: Sequence[float], q: Sequence[float], token: int) -> float:
    """Returns d(q, p) by its formula."""
    if kind == "cross-entropy":
        return -math.log(p[token]) if p[token] > 0 else math.inf
    if kind == "kl":
        pairs = [(a, b) for a, b in zip(q, p, strict=True) if a > 0]
        return sum(a * math.log(a / b) if b > 0 else math.inf for a, b in pairs)
    if kind == "total-variation":
        return sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
    return float(p.index(max(p)) != q.index(max(q)))


@dataclass
class Naive:
    """Algorithm 1, with a cap on the small model's tokens in a row. No caches, no laws of ours.

    The rollback looks at what the small model wrote since the large one last ran: the rest is the
    large model's own or was judged before.
    """

    large: Table = LARGE
    small: Table = SMALL
    sampling: Sampling = SAMPLINGS["greedy"]
    fallback: float = 0.5
    rollback: float = 1.0
    distance: str = "cross-entropy"
    most: int = 10
    end_ids: frozenset[int] = frozenset()
    new_tokens: int = 30
    generator: torch.Generator = field(default_factory=torch.Generator)
    small_calls: int = 0
    large_calls: int = 0
    rollbacks: int = 0

    def law(self, table: Table, text: Sequence[int]) -> list[float]:
        """Returns what thresholds and distances are of; greedy decoding looks at temperature 1."""
        if self.sampling.greedy:
            return list(table(text))
        return plain_law(table(text), self.sampling, text)

    def sample(self, law: list[float]) -> int:
        if self.sampling.greedy:
            return law.index(max(law))
        return int(draw(torch.tensor([law], dtype=torch.float64), self.generator))

    def text(self) -> list[int]:
        y: list[int] = []
        unread = 0
        while not (y and y[-1] in self.end_ids) and len(y) < self.new_tokens:
            if unread < self.most:
                p_small = self.law(self.small, PROMPT + y)
                self.small_calls += 1
                if max(p_small) >= self.fallback:
                    y = [*y, self.sample(p_small)]
                    unread += 1
                    continue
            begin = len(y) - unread
            p_large = [
                self.law(self.large, PROMPT + y[:place]) for place in range(begin, len(y) + 1)
            ]
            self.large_calls += 1
            if unread and not self.sampling.greedy:
                # The decoder draws for rules by chance; this rule does not look at it.
                torch.rand(unread, generator=self.generator)
            for m in range(begin, len(y)):
                q = self.law(self.small, PROMPT + y[:m])
                if longhand(self.distance, p_large[m - begin], q, y[m]) > self.rollback:
                    y = [*y[:m], self.sample(p_large[m - begin])]
                    self.rollbacks += 1
                    break
            else:
                y = [*y, self.sample(p_large[-1])]
            unread = 0
        return y


def bild(
    naive: Naive, *, measure: str = "probability", generator: torch.Generator | None = None
) -> Generation:
    """Returns what the one loop makes of the naive decoder's models and thresholds."""
    if generator is None:
        generator = torch.Generator().manual_seed(0)
    subject = Subject(
        TabularModel(naive.large, VOCABULARY, "large"),
        ModelDrafter(TabularModel(naive.small, VOCABULARY, "small"), naive.sampling, VOCABULARY),
        naive.sampling,
        Stopping(naive.new_tokens, naive.end_ids),
        Rollback(naive.rollback, naive.distance),
    )
    policy = Fallback(naive.fallback, naive.most, measure, naive.end_ids)
    return bild_session(subject, PROMPT, policy, generator).finished()


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("setting", SAMPLINGS)
def test_bild_is_the_naive_algorithm_token_by_token(setting: str, distance: str) -> None:
    source = random.Random(f"{setting} {distance}")
    kinds = {"rolled back": 0, "fallen back": 0, "ended": 0, "unread": 0}
    for seed in range(200):
        naive = Naive(
            large=random_table(2 * seed, VOCABULARY, zeros=source.choice([0, 1])),
            small=random_table(2 * seed + 1, VOCABULARY, zeros=source.choice([0, 1])),
            sampling=SAMPLINGS[setting],
            fallback=source.choice([0.0, source.uniform(0.2, 1.0), 1.1]),
            rollback=source.choice([0.0, source.expovariate(1.0), math.inf]),
            distance=distance,
            most=source.choice([1, 2, 3, 10]),
            end_ids=frozenset(source.choice([(), (3,), (1, 2)])),
            new_tokens=source.randrange(1, 12),
            generator=torch.Generator().manual_seed(seed),
        )
        expected = naive.text()
        generation = bild(naive, generator=torch.Generator().manual_seed(seed))
        assert list(generation.tokens) == expected
        assert generation.target_calls == naive.large_calls
        assert generation.draft_calls == naive.small_calls
        assert generation.rollbacks == naive.rollbacks
        kinds["rolled back"] += naive.rollbacks > 0
        kinds["fallen back"] += generation.draft_calls > generation.drafted
        kinds["ended"] += generation.ending == "end of text"
        kinds["unread"] += generation.target_calls < len(generation.blocks)
    assert min(kinds.values()) > 10, kinds


def own_text(table: Table, naive: Naive) -> tuple[int, ...]:
    stopping = Stopping(naive.new_tokens, naive.end_ids)
    return alone(TabularModel(table, VOCABULARY), PROMPT, naive.sampling, stopping).tokens


def test_a_rollback_of_zero_is_zero() -> None:
    # -ln p(x) exceeds 0 if p(x) < 1, so every drafted token is rolled back.
    generation = bild(Naive(rollback=0.0, fallback=0.0, most=3, new_tokens=12))
    assert generation.accepted == 3  # the text's last three, unread
    assert generation.rollbacks == generation.target_calls == 9
    assert generation.discarded == 27


def test_the_read_part_of_a_text_is_all_but_an_ending_that_only_the_draft_saw() -> None:
    whole = bild(Naive(rollback=0.0, fallback=0.0, most=3, new_tokens=12))
    part = read_part(whole)
    assert part.blocks == whole.blocks[:9]
    assert len(whole.blocks) == 10
    assert (part.text, part.prefill_seconds) == (whole.text, whole.prefill_seconds)


def test_the_small_model_reads_the_prompt_and_the_text_must_fit_the_large_one() -> None:
    large, small = (TabularModel(LARGE, VOCABULARY, name) for name in ("large", "small"))
    drafter = ModelDrafter(small, Sampling(), VOCABULARY)
    subject = Subject(large, drafter, Sampling(), Stopping(5), Rollback(1.0))
    session = bild_session(subject, [0, 1, 2], Fallback(0.5), torch.Generator())
    assert small.length == large.length == 2
    assert session.prefill_seconds > 0
    large.max_length = 7
    with pytest.raises(ValueError, match=r"must fit the 7 positions of large, got 3 \+ 5 tokens"):
        bild_session(subject, [0, 1, 2], Fallback(0.5), torch.Generator())


def test_a_certainty_of_exactly_the_threshold_goes_on() -> None:
    law = Dense(torch.tensor([[0.5, 0.25, 0.25]]))
    assert Fallback(0.5).trusts(law)
    assert not Fallback(0.51).trusts(law)


def test_disagreement_with_no_tolerance_gives_the_large_models_greedy_text() -> None:
    naive = Naive(fallback=0.0, rollback=0.0, distance="disagreement", most=4, new_tokens=29)
    generation = bild(naive)
    read = sum(len(block.tokens) for block in generation.blocks if block.target_calls)
    assert generation.tokens[:read] == own_text(naive.large, naive)[:read]


def test_entropy_is_another_measure_of_the_same_policy() -> None:
    law = Dense(torch.tensor([[0.5, 0.5, 0.0, 0.0]], dtype=torch.float64))
    assert Fallback(0.5, measure="entropy").certainty(law) == pytest.approx(0.5, abs=1e-15)
    assert Fallback(0.5, measure="probability").certainty(law) == 0.5
    uneven = Dense(torch.tensor([[0.5, 0.25, 0.25, 0.0]], dtype=torch.float64))
    assert Fallback(0.5, measure="entropy").certainty(uneven) == pytest.approx(
        math.exp(-1.5 * math.log(2)), abs=1e-15
    )
    naive = Naive(fallback=0.45, new_tokens=40)
    by_probability, by_entropy = bild(naive), bild(naive, measure="entropy")
    assert by_entropy.target_calls > by_probability.target_calls


@pytest.mark.parametrize(
    ("law", "certainty"),
    [
        (OneHot(torch.tensor([1])), 1.0),
        (OneHot(torch.tensor([1]), torch.tensor([[0.25, 0.75]]).log()), 0.75),
        (Dense(torch.tensor([[0.25, 0.75]])), 0.75),
    ],
    ids=["no model", "greedy", "sampled"],
)
def test_certainty_is_of_the_law_behind_a_greedy_choice(law: Laws, certainty: float) -> None:
    assert Fallback(0.5).certainty(law) == pytest.approx(certainty, abs=1e-6)


def test_logits_that_no_law_can_be_made_of_stop_a_text_that_would_end_unread() -> None:
    naive = Naive(small=lambda text: [math.nan] * VOCABULARY, fallback=0.0)
    with pytest.raises(FloatingPointError, match="small returned NaN or infinite logits"):
        bild(naive)
    with pytest.raises(FloatingPointError, match="small returned NaN or infinite logits"):
        bild(Naive(small=lambda text: [math.nan] * VOCABULARY, fallback=0.5))


def test_a_looked_up_token_is_as_far_as_the_law_that_puts_all_on_it() -> None:
    """A draft without a law of its own: in nats -ln p, else what p does not hold of it."""
    p = Dense(torch.tensor([[0.5, 0.25, 0.25, 0.0], [0.25, 0.5, 0.0, 0.25]]))
    tokens = torch.tensor([0, 0])
    for distance, expected in (
        ("cross-entropy", [math.log(2), math.log(4)]),
        ("kl", [math.log(2), math.log(4)]),
        ("total-variation", [0.5, 0.75]),
        ("disagreement", [0.0, 1.0]),
    ):
        found = Rollback(1.0, distance).distances(p, OneHot(tokens), tokens)
        assert found.tolist() == pytest.approx(expected)


@pytest.mark.parametrize("distance", ["kl", "total-variation", "disagreement"])
def test_equal_laws_are_at_no_distance(distance: str) -> None:
    rows = torch.randn(200, 50, generator=torch.Generator().manual_seed(0)).softmax(dim=-1)
    tokens = torch.zeros(200, dtype=torch.int64)
    rule = Rollback(0.0, distance)
    assert rule.distances(Dense(rows), Dense(rows), tokens).tolist() == [0.0] * 200
    assert bool(rule.accepts(Dense(rows), Dense(rows), tokens, tokens).all())


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        *((Fallback, {"threshold": value}, f"fallback must be finite and at least 0, got {value}")
          for value in (-0.1, math.nan, math.inf)),
        *((Rollback, {"threshold": value}, f"rollback must be at least 0, got {value}")
          for value in (-0.1, math.nan)),
        (Fallback, {"threshold": 0.5, "most": 0}, "most must be at least 1, got 0"),
        (Fallback, {"threshold": 0.5, "measure": "doubt"}, "one of probability, entropy, got 'dou"),
        (Rollback, {"threshold": 1.0, "distance": "l2"}, "one of cross-entropy, kl, .* got 'l2'"),
    ],
)  # fmt: skip
def test_impossible_thresholds_and_measures_are_refused(
    kind: type[Fallback | Rollback], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**settings)


def test_an_unread_draft_ends_a_text_by_a_string_that_began_before_it() -> None:
    strings = StopStrings(("ab",), lambda ids: "".join("abc"[token] for token in ids))
    stopping = Stopping(30, stop_strings=strings)
    draft = Draft(torch.tensor([1, 2]), OneHot(torch.tensor([1, 2])), torch.zeros(2))
    for text, ending in (([2, 0], (1, 2)), ([2, 2], ())):
        found = unread_ending(draft, text, drafter_name="small", stopping=stopping, emitted=2)
        assert found == ending


def test_an_unread_draft_of_nan_is_named_with_its_place() -> None:
    draft = Draft(torch.tensor([1, 2]), OneHot(torch.tensor([1, 2])), torch.tensor([0, torch.nan]))
    with pytest.raises(FloatingPointError, match=r"^small returned .* at position 4$"):
        unread_ending(draft, [2, 0, 1], drafter_name="small", stopping=Stopping(4), emitted=2)
