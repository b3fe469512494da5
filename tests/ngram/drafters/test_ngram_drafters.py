"""N-gram and lookup drafters behind the drafter protocol."""

from collections import Counter

import pytest
import torch

from ngram.drafters import LookupThenNgram, NgramDrafter, PromptLookupDrafter
from ngram.rows.rows import Rows, Vocabulary
from reference.drafter import Drafter
from reference.laws import Dense, Laws, Sampling
from reference.policies import Fixed, Policy
from reference.scoring import ScoreOptions, Stretch
from tests.ngram.corpora import random_texts, trained_model
from tests.reference.chi_squared import require_law

CPU = torch.device("cpu")
ROWS = Rows(trained_model(random_texts(1, words=6), 3), Vocabulary(8, end=7))


def ngram_drafter(sampling: Sampling) -> NgramDrafter:
    return NgramDrafter(ROWS, sampling, device=CPU, name="ngram:model.arpa")


def lookup() -> PromptLookupDrafter:
    return PromptLookupDrafter(device=CPU)


class Once(Policy):
    """Never drafts a second token."""

    name = "once"

    def gamma(self, blocks: object) -> int:
        return 5

    def goes_on(self, token: torch.Tensor, q: Laws) -> bool:
        return False


DRAFTERS: dict[str, Drafter] = {
    "ngram": ngram_drafter(Sampling()),
    "lookup": lookup(),
    "both": LookupThenNgram(lookup(), ngram_drafter(Sampling())),
}
TEXT = [1, 2, 3, 1, 2]


@pytest.mark.parametrize("drafter", DRAFTERS.values(), ids=DRAFTERS)
def test_the_requested_number_is_drafted_and_timed(drafter: Drafter) -> None:
    drafter.start(TEXT, TEXT)
    before = drafter.forward_seconds
    for limit in (0, 1, 4):
        draft = drafter.propose(TEXT, limit, Fixed(limit), torch.Generator().manual_seed(0))
        assert draft.tokens.shape == (limit,)
        assert draft.tokens.dtype == torch.int64
        assert draft.q.dense(8).shape == (limit, 8)
        torch.testing.assert_close(draft.q.dense(8).sum(dim=1), torch.ones(limit))
    assert drafter.forward_seconds > before
    assert len(drafter.propose(TEXT, 5, Once(), torch.Generator()).tokens) == 1


def test_ngrams_draft_from_the_laws_they_say() -> None:
    drafter = ngram_drafter(Sampling(0.8, top_k=5))
    generator = torch.Generator().manual_seed(0)
    pairs: Counter[tuple[int, int]] = Counter()
    for _ in range(3000):
        draft = drafter.propose([3], 2, Fixed(2), generator)
        first, second = draft.tokens.tolist()
        pairs[(first, second)] += 1
    law: dict[tuple[int, int], float] = {}
    one = torch.from_numpy(ROWS.log_row([-2, 3]))[None]
    p = drafter.sampling.laws(one, [3]).dense(8)[0]
    for first in range(8):
        two = torch.from_numpy(ROWS.log_row([3, first]))[None]
        q = drafter.sampling.laws(two, [3, first]).dense(8)[0]
        law |= {(first, second): float(p[first] * q[second]) for second in range(8)}
    require_law(pairs, law)


def test_greedy_ngrams_draft_the_likeliest() -> None:
    draft = ngram_drafter(Sampling(0.0)).propose([1], 3, Fixed(3), torch.Generator())
    text = [1]
    for token in draft.tokens.tolist():
        assert token == ROWS.log_row(ROWS.context(text)).argmax()
        text.append(token)


def test_ngram_rows_are_as_wide_as_the_target() -> None:
    wide = Rows(ROWS.model, Vocabulary(8, end=7), width=20)
    drafter = NgramDrafter(wide, Sampling(), device=CPU, name="ngram")
    draft = drafter.propose([1], 50, Fixed(50), torch.Generator().manual_seed(0))
    assert isinstance(draft.q, Dense)
    assert draft.q.probabilities.shape == (50, 20)
    assert (draft.q.probabilities[:, 8:] == 0).all()
    assert (draft.tokens < 8).all()


def test_no_match_drafts_nothing_nor_does_a_text_before_this_one() -> None:
    drafter = lookup()
    for text, followed in (([1, 2, 3], []), ([5, 6], [5]), ([5], [])):
        drafter.start(text, text)
        draft = drafter.propose([*text, *followed], 4, Fixed(4), torch.Generator())
        assert draft.tokens.tolist() == ([6, 5, 6, 5] if followed else [])


def test_an_encoders_prompt_is_copied_from() -> None:
    drafter = lookup()
    drafter.start([4, 5, 6, 7], [0])
    draft = drafter.propose([0, 5], 2, Fixed(2), torch.Generator())
    assert draft.tokens.tolist() == [6, 7]


def test_both_draft_by_ngram_where_nothing_matches() -> None:
    both = LookupThenNgram(lookup(), ngram_drafter(Sampling(0.0)))
    both.start([1, 2], [1, 2])
    copied = both.propose([1, 2, 5, 1], 2, Fixed(2), torch.Generator())
    assert copied.tokens.tolist() == [2, 5]
    both.start([1, 2], [1, 2])
    own = ngram_drafter(Sampling(0.0)).propose([1, 2], 2, Fixed(2), torch.Generator())
    modelled = both.propose([1, 2], 2, Fixed(2), torch.Generator())
    assert modelled.tokens.tolist() == own.tokens.tolist()


def test_names_are_as_a_user_would_give_them() -> None:
    assert lookup().name == "lookup"
    assert PromptLookupDrafter(device=CPU, longest=5).name == "lookup:5"
    both = LookupThenNgram(lookup(), ngram_drafter(Sampling()))
    assert both.name == "lookup+ngram:model.arpa"


@pytest.mark.parametrize("longest", [0, 400])
def test_a_lookup_of_nothing_or_of_more_than_memory_indexes_is_refused(longest: int) -> None:
    with pytest.raises(ValueError, match=f"a lookup must match 1 to 64 tokens.*{longest}"):
        PromptLookupDrafter(device=CPU, longest=longest)


@pytest.mark.parametrize("beginning", [[0], [2, 6]])
def test_the_decoders_first_token_is_no_word(beginning: list[int]) -> None:
    """T5's padding token, or BART's end of text and language: then a sentence begins."""
    drafter = ngram_drafter(Sampling())
    prompt, continuation = [4, 5, 6], [3, 1, 5]
    p = Sampling().laws(torch.zeros(3, 8), [])
    drafter.start(prompt, beginning)
    first = drafter.propose(beginning, 1, Fixed(1), torch.Generator().manual_seed(0)).q
    expected = Sampling().laws(torch.from_numpy(ROWS.log_row(ROWS.context([])))[None], [])
    assert isinstance(first, Dense)
    assert isinstance(expected, Dense)
    torch.testing.assert_close(first.probabilities, expected.probabilities)
    [scores] = drafter.score(Stretch(beginning, continuation, p), ScoreOptions([Sampling()], (), 2))
    plain = ngram_drafter(Sampling())
    plain.start([3], [3])
    [expected_scores] = plain.score(
        Stretch([3], continuation[1:], p.first(2)), ScoreOptions([Sampling()], (), 2)
    )
    torch.testing.assert_close(scores.acceptance[1:], expected_scores.acceptance)
