"""A recorded text under a stopping rule: estimates from some starts, fixed lengths, bad input."""

import numpy as np
import pytest
from numpy.typing import NDArray

from simulator.acceptance.replay import Replay
from simulator.acceptance.stopping.stopped_text import RULES, StoppedText

TOKENS, LONGEST = 600, 6
RULE = RULES["llama.cpp"]


def stopped(seed: int, every: int) -> tuple[NDArray[np.float64], StoppedText]:
    """Returns acceptances of a text, and the text with own paths at every n-th start."""
    generator = np.random.default_rng(seed)
    acceptance = generator.random(TOKENS)
    own = generator.random((TOKENS, LONGEST))
    starts = np.arange(0, TOKENS, every)
    return acceptance, StoppedText(
        Replay(acceptance), along=own[:, 0], starts=starts, own=own[starts], drawn=False
    )


def test_paths_at_some_starts_estimate_drafted_tokens_within_their_error() -> None:
    """Over 40 texts the errors' mean square is 1 of their own: within 4 of its deviations."""
    scores = []
    for seed in range(40):
        exact, some = (stopped(seed, every)[1].blocks(LONGEST, RULE, 0.3) for every in (1, 4))
        assert some.verified.sum() == pytest.approx(exact.verified.sum(), rel=1e-12)
        assert exact.drafted_error == 0 < some.drafted_error
        counts = np.arange(LONGEST + 1)
        scores.append(float((some.verified - exact.verified) @ counts) / some.drafted_error)
    assert np.mean(np.square(scores)) == pytest.approx(1, abs=4 * np.sqrt(2 / 40))


def test_threshold_0_is_a_fixed_length_whatever_was_recorded() -> None:
    acceptance, text = stopped(1, 5)
    found = text.blocks(LONGEST, RULE, 0.0)
    np.testing.assert_allclose(found.verified, Replay(acceptance).blocks(LONGEST), rtol=1e-12)
    assert found.drafted_error == 0


def test_arguments_out_of_range_are_refused() -> None:
    _, text = stopped(1, 1)
    with pytest.raises(ValueError, match="gamma must be at most the 6 tokens recorded, got 7"):
        text.blocks(LONGEST + 1, RULE, 0.5)
    with pytest.raises(ValueError, match=r"p_min must lie in \[0, 1\], got 1.2"):
        text.blocks(LONGEST, RULE, 1.2)
    one = np.array([0.5])
    with pytest.raises(ValueError, match=r"confidences along the text must lie in \[0, 1\], got 2"):
        StoppedText(Replay(one), along=4 * one, starts=np.array([0]), own=one[:, None], drawn=False)
