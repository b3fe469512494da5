"""The index of matches equals a search through the text."""

import numpy as np
import pytest
import torch
from tiny_models import llama
from transformers.generation.candidate_generator import PromptLookupCandidateGenerator

from ngram.drafters.copying import EarliestMatches, LatestMatches


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
        matches = LatestMatches(longest)
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
    ("text", "copied"),
    [
        ([1, 2, 3, 9, 1, 2], [3, 9, 1, 2]),
        ([1, 2, 7, 1, 2, 8, 1, 2], [8, 1, 2, 8]),
        ([5, 1, 2, 7, 6, 2, 8, 1, 2], [7, 6, 2, 8]),
        ([4, 4], [4, 4, 4, 4]),
        ([1, 2, 1, 2], [1, 2, 1, 2]),
        ([1, 2, 3], []),
        ([1], []),
        ([], []),
    ],
)
def test_the_longest_and_latest_match_is_copied(text: list[int], copied: list[int]) -> None:
    matches = LatestMatches(2)
    matches.update(text)
    assert matches.continuation(4) == copied


def test_nothing_asked_for_is_nothing_copied() -> None:
    matches = LatestMatches(2)
    matches.update([1, 1])
    assert matches.continuation(0) == []


@pytest.mark.parametrize(
    ("text", "copied"),
    [
        ([1, 2, 3, 9, 1, 2], [3, 9, 1, 2]),
        ([1, 2, 7, 1, 2, 8, 1, 2], [7, 1, 2, 8]),
        ([1, 2, 3, 4, 2, 3], [4, 2, 3]),
        ([4, 4, 4], [4]),
        ([1, 2, 9, 2], []),
        ([1, 2, 3], []),
        ([], []),
    ],
)
def test_vllms_rule_copies_the_earliest_match_to_the_texts_end(
    text: list[int], copied: list[int]
) -> None:
    matches = EarliestMatches(3, 2)
    matches.update(text)
    assert matches.continuation(4) == copied


@pytest.mark.parametrize("seed", range(30))
def test_with_matches_from_one_token_it_is_transformers_rule(seed: int) -> None:
    source = np.random.default_rng(seed)
    longest, count = int(source.integers(1, 5)), int(source.integers(1, 7))
    candidates = PromptLookupCandidateGenerator(
        num_output_tokens=count, max_matching_ngram_size=longest, max_length=1000
    )
    matches = EarliestMatches(longest, 1)
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
        torch.cat([prompt, prompt], dim=1),
        max_new_tokens=60,
        do_sample=False,
        prompt_lookup_num_tokens=4,
        max_matching_ngram_size=3,
        eos_token_id=None,
        pad_token_id=0,
    )[0].tolist()
    hook.remove()
    matches, written, calls = EarliestMatches(3, 1), 80, 0
    while written < len(text):
        matches.update(text[:written])
        draft = matches.continuation(min(4, len(text) - written - 1))
        stood = next((at for at, token in enumerate(draft) if token != text[written + at]), None)
        written += 1 + (len(draft) if stood is None else stood)
        calls += 1
    assert calls == len(passes) < 60
