"""Indexes of matches and suffixes equal a search through the text."""

import numpy as np
import pytest
import torch
from transformers.generation.candidate_generator import PromptLookupCandidateGenerator

from ngram.indexes import Matches, Suffixes
from tests.reference.tiny_models import llama


def searched(text: list[int], longest: int, limit: int) -> list[int]:
    """Returns what followed the longest, then latest, earlier match of the text's end."""
    for length in range(min(longest, len(text)), 0, -1):
        for start in range(len(text) - length - 1, -1, -1):
            if text[start : start + length] == text[-length:]:
                continued = list(text)
                for place in range(start + length, start + length + limit):
                    continued.append(continued[place])
                return continued[len(text) :]
    return []


@pytest.mark.parametrize("longest", [1, 2, 3, 5])
def test_growing_and_shrinking_texts_are_searched_right(longest: int) -> None:
    source = np.random.default_rng(longest)
    for _ in range(20):
        matches = Matches(longest)
        text: list[int] = []
        for _ in range(60):
            if text and source.random() < 0.3:
                # All drafted tokens are rejected, and the first word is replaced.
                text = [*text[: int(source.integers(0, len(text)))], int(source.integers(0, 4))]
            else:
                text = [*text, *source.integers(0, 4, int(source.integers(1, 4))).tolist()]
            matches.update(text)
            assert matches.continuation(5) == searched(text, longest, 5)


@pytest.mark.parametrize(
    ("text", "latest", "earliest"),
    [
        ([1, 2, 3, 9, 1, 2], [3, 9, 1, 2], [3, 9, 1, 2]),
        ([1, 2, 7, 1, 2, 8, 1, 2], [8, 1, 2, 8], [7, 1, 2, 8]),
        ([5, 1, 2, 7, 6, 2, 8, 1, 2], [7, 6, 2, 8], [7, 6, 2, 8]),
        ([1, 2, 3, 4, 2, 3], [4, 2, 3, 4], [4, 2, 3]),
        ([4, 4], [4, 4, 4, 4], []),
        ([4, 4, 4], [4, 4, 4, 4], [4]),
        ([1, 2, 1, 2], [1, 2, 1, 2], [1, 2]),
        ([1, 2, 9, 2], [9, 2, 9, 2], []),
        ([1, 2, 3], [], []),
        ([1], [], []),
        ([], [], []),
    ],
)
def test_the_longest_match_is_copied_the_latest_or_by_vllms_rule_the_earliest(
    text: list[int], latest: list[int], earliest: list[int]
) -> None:
    for matches, copied in ((Matches(2), latest), (Matches(3, 2, earliest=True), earliest)):
        matches.update(text)
        assert matches.continuation(4) == copied


def test_a_draft_of_no_tokens_copies_nothing() -> None:
    for matches in (Matches(2), Matches(2, earliest=True)):
        matches.update([1, 1])
        assert matches.continuation(0) == []


@pytest.mark.parametrize("seed", range(30))
def test_with_matches_from_one_token_it_is_transformers_rule(seed: int) -> None:
    source = np.random.default_rng(seed)
    longest, count = int(source.integers(1, 5)), int(source.integers(1, 7))
    candidates = PromptLookupCandidateGenerator(
        num_output_tokens=count, max_matching_ngram_size=longest, max_length=1000
    )
    matches = Matches(longest, earliest=True)
    text: list[int] = []
    for word in source.integers(0, int(source.integers(2, 6)), 50).tolist():
        text.append(word)
        matches.update(text)
        found, _ = candidates.get_candidates(torch.tensor([text]))
        assert matches.continuation(count) == found[0, len(text) :].tolist()


def test_it_drafts_as_transformers_does_live() -> None:
    target = llama(vocab_size=200)
    prompt = torch.randint(0, 200, (1, 40), generator=torch.Generator().manual_seed(3))
    passes: list[int] = []
    hook = target.register_forward_hook(lambda *_: passes.append(1))
    text = target.generate(
        torch.cat([prompt, prompt], dim=1), max_new_tokens=60, do_sample=False, pad_token_id=0,
        prompt_lookup_num_tokens=4, max_matching_ngram_size=3, eos_token_id=None,
    )[0].tolist()  # fmt: skip
    hook.remove()
    matches, written, calls = Matches(3, earliest=True), 80, 0
    while written < len(text):
        matches.update(text[:written])
        draft = matches.continuation(min(4, len(text) - written - 1))
        stood = next((at for at, token in enumerate(draft) if token != text[written + at]), None)
        written += 1 + (len(draft) if stood is None else stood)
        calls += 1
    assert calls == len(passes) < 60


def ids(text: str) -> list[int]:
    return [ord(character) for character in text]


def speculated(text: str, depth: int = 24, earlier: str = "") -> tuple[str, float]:
    """Returns the speculation after a text whose tokens are its characters.

    earlier: outputs, apart by spaces.
    """
    before = Suffixes.of_outputs([ids(output) for output in earlier.split()], depth)
    index = Suffixes(depth, before if earlier else None)
    index.update(ids(text))
    tokens, expected = index.best()
    return "".join(map(chr, tokens)), expected


@pytest.mark.parametrize(
    ("text", "draft", "expected"),
    [
        ("", "", 0),
        ("abcd", "", 0),
        # A suffix of one token drafts one token, a suffix of two drafts two.
        ("abcdea", "b", 1),
        ("abcdeab", "cd", 2),
        ("abcdeabc", "dea", 3),
        # The end of the text ends the copy.
        ("aaa", "a", 1),
        # One of two followers; ties go to the one that was so frequent first.
        ("abaca", "b", 0.5),
        ("acabacxa", "c", 2 / 3),
        # The longer suffix is surer: after "xa" only "c" came, though "b" came more often.
        ("abababxacxa", "cx", 2),
        # Less than one in ten is not drafted: eleven tokens followed "a" once each.
        ("a0a1a2a3a4a5a6a7a8a9aAa", "", 0),
    ],
)
def test_the_likeliest_continuation_is_drafted(text: str, draft: str, expected: float) -> None:
    found = speculated(text)
    assert found == (draft, pytest.approx(expected))


@pytest.mark.parametrize(
    ("text", "earlier", "draft", "expected"),
    [
        # New tokens of the text are found in earlier outputs; tokens in neither are not found.
        ("ab", "abcd", "cd", 2),
        ("abz", "abcd", "", 0),
        # A suffix reaches into no other output, and a draft beyond none.
        ("xab", "xa bcd", "c", 1),
        ("ab", "abc def", "c", 1),
        # An output that ends there is an occurrence without a continuation.
        ("a", "xa ya ab", "b", 1 / 3),
        ("a", "xa", "", 0),
        # The text itself goes before where both promise as much, and else the surer one.
        ("abcab", "abxy", "ca", 2),
        ("abca", "abxy", "b", 1),
        ("acabacxa", "xab xab", "b", 1),
        # Among followers as frequent it is the one that was so first.
        ("a", "ac ab ad ab ac", "b", 0.4),
    ],
)
def test_outputs_written_before_draft_where_they_promise_more(
    text: str, earlier: str, draft: str, expected: float
) -> None:
    assert speculated(text, earlier=earlier) == (draft, pytest.approx(expected))


def test_suffix_and_continuation_are_no_longer_than_the_tree_is_deep() -> None:
    text = "0123456789" * 2
    assert [len(speculated(text, depth)[0]) for depth in (2, 3, 6, 9, 24)] == [1, 1, 3, 4, 10]


def test_a_text_that_is_cut_and_goes_on_is_the_text_that_it_is() -> None:
    grown, fresh = Suffixes(8), Suffixes(8)
    for text in ([1, 2, 3, 1, 2], [1, 2, 3, 4], [1, 2, 3, 4, 1, 2, 3, 1]):
        grown.update(text)
    fresh.update([1, 2, 3, 4, 1, 2, 3, 1])
    assert grown.best() == fresh.best()
