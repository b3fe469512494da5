"""Acceptance by context, from accepted lengths of runs at several."""

import numpy as np
import pytest

from simulator.acceptance.from_lengths import (
    FromLengths,
    LengthLaw,
    acceptance_of_lengths,
    length_law,
)
from simulator.acceptance.iid import Iid

GAMMAS = np.arange(1, 8)


def law(context: int) -> LengthLaw:
    """Returns a law whose logits fall by 0.4 where the context is e times as long."""
    coefficients = np.array([1.2 - 0.4 * np.log(context / 4096), -0.2])
    return LengthLaw(coefficients, np.zeros((2, 2)), 7)


def lengths(*contexts: int) -> dict[tuple[int, int], float]:
    return {
        (context, gamma): float(np.exp(law(context).log_lengths([gamma])[0][0]))
        for context in contexts
        for gamma in (1, 3, 7)
    }


def test_one_context_tells_of_all_alike() -> None:
    found = acceptance_of_lengths(lengths(4096))
    alone = length_law({gamma: length for (_, gamma), length in lengths(4096).items()})
    assert found.conditional == pytest.approx(alone.acceptance().conditional)
    assert found.at_context(65536) is found


@pytest.mark.parametrize("context", [1024, 8192, 65536])
def test_two_contexts_tell_of_a_third(context: int) -> None:
    found = acceptance_of_lengths(lengths(1024, 16384)).at_context(context)
    expected = np.exp(law(context).log_lengths(GAMMAS)[0])
    assert found.tokens_per_call(GAMMAS) == pytest.approx(expected, rel=0.02)


def test_doubt_grows_away_from_the_contexts_that_were_run() -> None:
    found = acceptance_of_lengths(lengths(1024, 16384))
    near, far = (found.at_context(context) for context in (4096, 1 << 20))
    assert isinstance(far, FromLengths)
    assert isinstance(near, FromLengths)
    assert far.law.log_lengths([7])[1] > 2 * near.law.log_lengths([7])[1]


def test_what_is_known_of_no_context_is_the_same_at_all() -> None:
    assert Iid(0.7).at_context(9) == Iid(0.7)


def test_a_length_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match=r"length must lie in \[1, 4\] at gamma 3, got 5"):
        acceptance_of_lengths({(1, 3): 5.0, (2, 3): 2.0})
