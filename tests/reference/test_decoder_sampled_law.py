"""The real, sampling decoder: laws of texts and rates of acceptance, by statistical tests.

A chi-squared test fails a correct decoder with odds of one in a million (`FALSE_ALARM`), a test of
a rate (5 standard errors) with odds of 6 in ten million; all together below 1 in 10,000.
"""

import functools
import itertools
import math
import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

import pytest
import torch

from reference.laws import Sampling, draw
from reference.policies import Fixed
from reference.records import Generation, Stopping
from tests.reference.chi_squared import require_law, require_laws
from tests.reference.combinations import (
    DRAFTERS,
    POLICIES,
    PROMPT,
    SETTINGS,
    TARGET,
    covering,
    table_text,
)
from tests.reference.decoding import alone, speculate_models
from tests.reference.plain_laws import normalised, plain_law
from tests.reference.tabular import TabularModel, constant

VOCABULARY = 4
NEW_TOKENS = 3000
GAMMA = 3
STANDARD_ERRORS = 5

Law = list[float]


def random_law(source: random.Random) -> Law:
    """Returns a law in which up to two tokens, of four, have no mass."""
    weights = [source.random() for _ in range(VOCABULARY)]
    for token in source.sample(range(VOCABULARY), source.randrange(3)):
        weights[token] = 0.0
    return normalised(weights)


LAWS: dict[str, tuple[Law, Law]] = {
    "equal": ([0.4, 0.3, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1]),
    "equal with a zero": ([0.5, 0.0, 0.2, 0.3], [0.5, 0.0, 0.2, 0.3]),
    "disjoint": ([0.7, 0.3, 0.0, 0.0], [0.0, 0.0, 0.4, 0.6]),
    "certain draft": ([0.1, 0.2, 0.3, 0.4], [0.0, 0.0, 1.0, 0.0]),
    "certain target": ([0.0, 1.0, 0.0, 0.0], [0.1, 0.2, 0.3, 0.4]),
} | {
    f"random {seed}": (random_law(random.Random(seed)), random_law(random.Random(-1 - seed)))
    for seed in range(4)
}


class Single(TabularModel):
    """A model of one law, whose logits come in single precision, as a real model's do."""

    def __init__(self, law: Law) -> None:
        super().__init__(constant(law), VOCABULARY)
        self._row = super().extend(torch.tensor([0])).float()

    def extend(self, tokens: torch.Tensor, parents: Sequence[int] | None = None) -> torch.Tensor:
        self._text += tokens.tolist()
        return self._row.expand(len(tokens), -1)


@functools.cache
def long_text(pair: str, *, seed: int = 1, tokens: int = NEW_TOKENS) -> Generation:
    """Returns one long text of independent tokens of law p, drafted with law q, 3 at a time."""
    p, q = LAWS[pair]
    target, draft = Single(p), Single(q)
    return speculate_models(
        target, draft, [0], Sampling(), Fixed(GAMMA), Stopping(tokens), seed=seed
    )


def triples(tokens: tuple[int, ...]) -> Counter[tuple[int, ...]]:
    """Returns how often each three tokens follow one another, counted without overlap."""
    return Counter(zip(tokens[::3], tokens[1::3], tokens[2::3], strict=True))


def independent(p: Law) -> dict[tuple[int, ...], float]:
    """Returns the law of three independent tokens."""
    return {
        text: math.prod(p[token] for token in text)
        for text in itertools.product(range(VOCABULARY), repeat=3)
    }


@pytest.mark.parametrize("pair", LAWS)
def test_long_texts_have_the_targets_law(pair: str) -> None:
    require_law(triples(long_text(pair).tokens), independent(LAWS[pair][0]))


@pytest.mark.parametrize("pair", LAWS)
def test_tokens_are_accepted_with_the_mass_that_both_laws_share(pair: str) -> None:
    """Theorem 5 of Leviathan et al. 2023: beta is the sum of min(p, q)."""
    p, q = LAWS[pair]
    beta = sum(map(min, p, q))
    blocks = long_text(pair).blocks
    for position in range(GAMMA):
        reached = [block for block in blocks if len(block.drafted) > position <= block.accepted]
        rate = sum(block.accepted > position for block in reached) / max(len(reached), 1)
        # A float32 rounding of equal laws may reject a token in a million.
        error = math.sqrt(max(beta * (1 - beta), 1e-6) / max(len(reached), 1))
        if position == 0 or beta > 0.2:
            assert len(reached) > 50
            assert abs(rate - beta) <= STANDARD_ERRORS * error


@pytest.mark.parametrize(("drafter", "policy", "setting"), covering(DRAFTERS, POLICIES, SETTINGS))
def test_each_token_follows_its_text_with_the_targets_law(
    drafter: str, policy: str, setting: str
) -> None:
    """Long texts again, of a target whose law depends on the text; combined pairwise."""
    sampling = SETTINGS[setting]
    made, generator = DRAFTERS[drafter](sampling), torch.Generator().manual_seed(7)
    generation = table_text(made, sampling, POLICIES[policy], 200, generator=generator)
    text = [*PROMPT, *generation.tokens]
    # All that the law depends on: the last three tokens, and for the penalty the set of all.
    counts: defaultdict[Hashable, Counter[Hashable]] = defaultdict(Counter)
    laws: dict[Hashable, dict[Hashable, float]] = {}
    for at in range(len(PROMPT), len(text)):
        before = text[:at]
        context = (tuple(before[-3:]), frozenset(before))
        counts[context][text[at]] += 1
        if context not in laws:
            laws[context] = dict(enumerate(plain_law(TARGET(before), sampling, before)))
    require_laws((counts[context], laws[context]) for context in counts)


def test_plain_decoding_has_the_targets_law() -> None:
    p = LAWS["random 0"][0]
    target, generator = Single(p), torch.Generator().manual_seed(3)
    generation = alone(target, [0], Sampling(), Stopping(NEW_TOKENS), generator=generator)
    require_law(triples(generation.tokens), independent(p))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("share", "token"), [(0.0, 2), (1 - 2**-53, 4)])
def test_the_ends_of_the_unit_interval_draw_no_impossible_token(
    share: float, token: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        torch, "rand", lambda shape, **options: torch.full(shape, share, dtype=options["dtype"])
    )
    for total in (1.0, 0.3, 7.0):
        weights = total * torch.tensor([[0.0, 0.0, 0.3, 0.0, 0.7, 0.0]], dtype=dtype)
        assert draw(weights, torch.Generator()).item() == token


def test_the_generator_is_advanced_and_never_seeded_again() -> None:
    first = long_text("random 1", tokens=300)
    assert len({(block.drafted, block.tokens) for block in first.blocks[:12]}) > 3
    assert long_text.__wrapped__("random 1", tokens=300).tokens == first.tokens
    assert long_text("random 1", seed=2, tokens=300).tokens != first.tokens
