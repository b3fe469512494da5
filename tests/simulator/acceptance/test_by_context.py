"""Acceptance by context, from accepted lengths of runs at several."""

import numpy as np
import pytest

from simulator.acceptance.acceptance import Iid
from simulator.acceptance.accepted import Accepted
from simulator.acceptance.from_counts import from_counts

GAMMAS = np.arange(1, 8)


def tokens(context: int) -> np.ndarray:
    """Returns lengths whose rates' logits fall by 0.4 where the context is e times as long."""
    logits = 1.2 - 0.4 * np.log(context / 4096) - 0.2 * np.log(GAMMAS)
    return 1 + np.cumsum(np.cumprod(1 / (1 + np.exp(-logits))))


def counted(*contexts: int) -> list[Accepted]:
    return [
        Accepted(gamma, float(tokens(context)[gamma - 1]), drafts=1e4, context=context)
        for context in contexts
        for gamma in (1, 3, 7)
    ]


def test_one_context_tells_of_all_alike() -> None:
    found = from_counts(counted(4096))
    assert found.tokens_per_call([1, 3, 7]) == pytest.approx(tokens(4096)[[0, 2, 6]])
    assert found.at_context(65536) is found


@pytest.mark.parametrize("context", [1024, 8192, 65536])
def test_two_contexts_tell_of_a_third(context: int) -> None:
    found = from_counts(counted(1024, 16384)).at_context(context)
    assert found.tokens_per_call(GAMMAS) == pytest.approx(tokens(context), rel=0.03)


def test_doubt_grows_away_from_the_contexts_that_were_run() -> None:
    found = from_counts(counted(1024, 16384))
    near, far = (found.at_context(context).log_lengths([7])[1] for context in (4096, 1 << 20))
    assert far > 2 * near


def test_what_is_known_of_no_context_is_the_same_at_all() -> None:
    assert Iid(0.7).at_context(9) == Iid(0.7)
