"""The measures of drafts, on blocks small enough to count by hand."""

import numpy as np
import pytest

from studies.blockwise.measures import (
    accepted,
    increasing_heads,
    longest_runs,
    oracle,
    repeats,
    target_calls,
)


def test_a_draft_stands_up_to_its_first_wrong_token() -> None:
    drafts = np.array([[1, 2, 3], [1, 9, 3], [9, 2, 3], [1, 2, 9]])
    ahead = np.array([[1, 2, 3]] * 4)
    assert accepted(drafts, ahead).tolist() == [3, 1, 0, 2]


def test_of_several_drafts_the_one_that_stands_longest_counts() -> None:
    drafts = np.array([[[9, 2, 3], [1, 2, 9], [1, 9, 3]]])
    assert accepted(drafts, np.array([[1, 2, 3]])).tolist() == [2]


def test_what_lies_beyond_the_text_is_never_accepted() -> None:
    assert accepted(np.array([[1, 2, 0]]), np.array([[1, 2, -1]])).tolist() == [2]


def test_the_oracle_goes_on_while_the_texts_token_is_in_the_lattice() -> None:
    tokens = np.array([[[5, 1], [2, 6], [7, 8]]])
    ahead = np.array([[1, 2, 3]])
    assert oracle(tokens, ahead, 2).tolist() == [2]
    assert oracle(tokens, ahead, 1).tolist() == [0]


@pytest.mark.parametrize(
    ("lengths", "calls"), [([], 0), ([0], 1), ([0, 0, 0], 3), ([2, 0, 0], 1), ([1, 0, 5, 0], 2)]
)
def test_a_call_emits_what_stands_and_one_token_more(lengths: list[int], calls: int) -> None:
    assert target_calls(np.array(lengths, np.int64)) == calls


def test_repetition_counts_from_the_first_heads_own_token() -> None:
    drafts = np.array([[4, 4, 5], [1, 2, 2], [7, 8, 9]])
    repeated = repeats(drafts, np.array([4, 3, 3]))
    assert repeated.tolist() == [
        [True, True, False], [False, False, True], [False, False, False]
    ]  # fmt: skip
    assert longest_runs(repeated).tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    ("entropy", "heads"),
    [([1, 2, 3, 4], 4), ([1, 2, 1.5, 4], 2), ([2, 1, 3, 4], 1), ([1, 2, 2, 3], 4), ([5], 1)],
)
def test_h_max_is_where_mean_entropy_stops_rising(entropy: list[float], heads: int) -> None:
    """As defined in section 6.2, whose inequality is not strict."""
    assert increasing_heads(np.array(entropy, float)) == heads
