"""Lengths at several γ that contradict each other, and what a plan then takes beyond them."""

import numpy as np
import pytest

from simulator.acceptance.accepted import Accepted
from simulator.acceptance.from_counts import from_counts, rising


@pytest.mark.parametrize(
    ("lengths", "steps"),
    [
        ({2: 1.87, 3: 2.33}, "a position adds 0.46 tokens there, and 0.44 before"),
        ({2: 1.87, 3: 2.30}, "adds 0.43 tokens there, and 0.44 before"),
        ({3: 2.6, 5: 2.4}, "adds -0.10 tokens there, and 0.53 before"),
        ({2: 1.5, 4: 3.5}, "adds 1.00 tokens there, and 0.25 before"),
    ],
)
def test_lengths_that_cannot_be_of_the_same_requests_are_named(
    lengths: dict[int, float], steps: str
) -> None:
    (sentence,) = rising(lengths)
    assert steps in sentence
    assert sentence.startswith(f"{lengths[max(lengths)]:g} tokens per call at gamma {max(lengths)}")


@pytest.mark.parametrize(
    "lengths",
    [{3: 2.33}, {2: 1.87, 3: 2.1}, {3: 2.6, 5: 3.0}, {3: 3.7, 5: 5.2}, {2: 3.0, 4: 5.0},
     {2: 1.0, 3: 1.0}, {2: 1.15, 5: 1.2}, {1: 1.76, 2: 2.25, 3: 2.6}],
)  # fmt: skip
def test_lengths_that_fit_are_not_named(lengths: dict[int, float]) -> None:
    assert rising(lengths) == ()


@pytest.mark.parametrize("kind", [None, "EAGLE", "MTP", "model"])
def test_beyond_contradicting_lengths_the_law_holds(kind: str | None) -> None:
    """Taken as exact, these two lengths accept every third position: 12 to 15 tokens at 32.

    The law moved to a single length has at most 3.
    """
    counts = [Accepted(2, 1.87), Accepted(3, 2.33)]
    found = from_counts(counts, kind=kind)
    assert found.tokens_per_call(np.array([2, 3])) == pytest.approx([1.87, 2.33])
    assert len(found.contradictions) == 1
    singles = [from_counts([each], kind=kind) for each in counts]
    limits = [float(each.tokens_per_call(32)) for each in singles]
    assert min(limits) - 0.1 < float(found.tokens_per_call(32)) < max(limits) + 0.1
