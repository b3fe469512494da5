"""Copies along recorded texts, all at once, against drafters that go from place to place."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch

from ngram.copies.suffixes import suffixes
from ngram.copies.texts import Copied, Texts, contexts, lookups, ngrams
from ngram.drafters import Index, NgramDrafter
from ngram.indexes import Matches, Suffixes
from ngram.rows.rows import Rows, Vocabulary
from reference.laws import Sampling
from reference.policies import Fixed
from tests.ngram.corpora import random_texts, trained_model

LONGEST = 7
Pairs = list[tuple[list[int], list[int]]]


def random_pairs(seed: int) -> Pairs:
    """Returns texts of few different tokens, some without a prompt."""
    generator = np.random.default_rng(seed)
    tokens, length = int(generator.choice([1, 2, 3, 6])), int(generator.choice([5, 20, 60]))

    def some(least: int) -> list[int]:
        size = int(generator.integers(least, length))
        return [int(token) for token in generator.integers(tokens, size=size)]

    return [(some(0), some(1)) for _ in range(3)]


def by_place(pairs: Pairs, drafts: Callable[[list[int]], list[int]]) -> list[tuple[int, int]]:
    """Returns how many tokens are drafted before each output token, and how many are accepted."""
    found = []
    for prompt, output in pairs:
        whole = [*prompt, *output]
        for place in range(len(prompt), len(whole)):
            draft = drafts(whole[:place])
            pairwise = zip(draft, whole[place:], strict=False)
            wrong = [at for at, (one, other) in enumerate(pairwise) if one != other]
            stood = wrong[0] if wrong else min(len(draft), len(whole) - place)
            found.append((len(draft), stood))
    return found


def indexed(index: Index) -> Callable[[list[int]], list[int]]:
    def draft(text: list[int]) -> list[int]:
        index.update(text)
        return index.continuation(LONGEST) if text else []

    return draft


def listed(copied: Copied) -> list[tuple[int, int]]:
    return list(zip(copied.drafted.tolist(), copied.accepted.tolist(), strict=True))


def require_drafts(found: Copied, pairs: Pairs, index: Callable[[], Index]) -> None:
    """Fails unless an index that goes through each text from place to place drafts as much."""
    expected = [each for pair in pairs for each in by_place([pair], indexed(index()))]
    assert listed(found) == expected


@pytest.mark.parametrize("seed", range(40))
def test_lookups_are_those_of_the_drafter(seed: int) -> None:
    pairs = random_pairs(seed)
    for longest in (1, 3):
        found = lookups(Texts.of(pairs), longest=longest, max_gamma=LONGEST)
        require_drafts(found, pairs, partial(Matches, longest))
    for least, most in ((1, 3), (2, 3), (3, 3)):
        how = {"longest": most, "shortest": least, "earliest": True}
        found = lookups(Texts.of(pairs), max_gamma=LONGEST, **how)
        require_drafts(found, pairs, partial(Matches, **how))


@pytest.mark.parametrize("seed", range(60))
def test_suffixes_are_those_of_the_drafter(seed: int) -> None:
    pairs, outputs = random_pairs(seed), [output for _, output in random_pairs(seed + 1)]
    earlier = Texts.of([((), output) for output in outputs])
    for depth in (2, 3, 5, 24):
        found = suffixes(Texts.of(pairs), max_gamma=LONGEST, depth=depth)
        require_drafts(found, pairs, partial(Suffixes, depth))
        found = suffixes(Texts.of(pairs), max_gamma=LONGEST, depth=depth, earlier=earlier)
        before = Suffixes.of_outputs(outputs, depth)
        require_drafts(found, pairs, partial(Suffixes, depth, before))


def test_ngrams_are_those_of_the_greedy_drafter() -> None:
    rows = Rows(trained_model(random_texts(1, words=3, texts=20), 3), Vocabulary(4, end=3))
    drafter = NgramDrafter(rows, Sampling(0.0), device=torch.device("cpu"), name="ngram")
    pairs = [([0, 1], [2, 0, 1, 1, 2]), ([2], [1, 0, 2, 1, 0])]

    def draft(text: list[int]) -> list[int]:
        drafter.start(text, text)
        made = drafter.propose(text, LONGEST, Fixed(LONGEST), torch.Generator())
        return [int(token) for token in made.tokens]

    assert listed(ngrams(Texts.of(pairs), rows, max_gamma=LONGEST)) == by_place(pairs, draft)


def test_contexts_do_not_reach_from_one_text_into_another() -> None:
    texts = Texts.of([([1, 2], [3]), ([1], [2, 3]), ([], [1, 2, 1, 2])])
    one, two = contexts(texts, 2)
    assert one.places.tolist() == [6, 8, 7, 9]
    assert two.places.tolist() == [7, 9]


def test_texts_too_long_for_one_pass_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ngram.copies.texts._BITS", 8)
    with pytest.raises(ValueError, match="a text must be shorter than 4 million tokens, got 12"):
        next(contexts(Texts.of([([1] * 6, [2] * 6)]), 1))
