"""Calibrated confidence: fitted on one half of the texts, judged on the other."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from estimator.profiles.p_min import replayed
from estimator.traces.traces import RecordedConfidence, Trace, calibrated, calibration, reliability
from simulator.acceptance.stopping.stopped_text import RULES

TOKENS, LONGEST = 400, 3


def overconfident(said: NDArray[np.float64]) -> NDArray[np.float64]:
    """How often a draft is right that says 0.8 and means 0.7: the law of the texts made here."""
    return 0.9 * said**1.2


def texts(count: int, right: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> list[Trace]:
    """Returns texts whose drafts are right as often as `right` says, drawn with seed 5."""
    generator = np.random.default_rng(5)
    found = []
    for _ in range(count):
        said = generator.random((TOKENS + LONGEST, 1)).repeat(3, axis=1).astype(np.float32)
        hits = (generator.random(TOKENS) < right(said[:TOKENS, 0])).astype(np.float64)
        own = np.stack([said[at : at + LONGEST] for at in range(TOKENS)])
        sure = RecordedConfidence(said[:TOKENS], np.arange(TOKENS), own)
        found.append(Trace(hits, hits, None, TOKENS, confidence=sure))
    return found


def test_a_calibration_finds_how_often_drafts_are_right() -> None:
    """4,000 tokens: a bin of some 130 deviates by 0.043, five times which is no chance."""
    said = np.linspace(0.05, 0.95, 10)
    found = calibration(texts(10, overconfident), 0)(said)
    np.testing.assert_allclose(found, overconfident(said), atol=0.1)
    assert np.all(np.diff(found) > 0)
    assert 0 <= found.min() <= found.max() <= 1


def test_calibrated_confidence_is_closer_to_the_truth_on_texts_that_did_not_fit_it() -> None:
    rows = reliability(texts(10, overconfident), 0)
    weights = np.array([row["tokens"] for row in rows])
    stated = np.array([abs(row["said"] - row["right"]) for row in rows]) @ weights / weights.sum()
    mended = (
        np.array([abs(row["calibrated"] - row["right"]) for row in rows]) @ weights / weights.sum()
    )
    assert weights.sum() == 10 * TOKENS
    assert stated > 2 * mended


def test_no_text_is_calibrated_by_itself() -> None:
    """The other half is always right: a text that never is gets a calibration of 1 nonetheless."""
    never, always = texts(1, np.zeros_like) + texts(1, np.ones_like)
    sure = [each.confidence for each in calibrated([never, always], 0)]
    assert sure[0] is not None
    assert sure[1] is not None
    assert sure[0].along[:, 0].min() == sure[0].own[..., 0].min() == 1
    assert sure[1].along[:, 0].max() == 0
    assert never.confidence is not None
    np.testing.assert_array_equal(sure[0].along[:, 1:], never.confidence.along[:, 1:])


def test_a_single_text_stays_as_it_is() -> None:
    [one] = texts(1, overconfident)
    assert calibrated([one], 0) == [one]


def test_positions_that_no_block_reaches_do_not_count() -> None:
    """By block: entry (t, 1) counts as often as entry (t, 0) is accepted, none beyond the text."""
    hits = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    said = np.broadcast_to(np.array([[0.5, 0.6]])[..., None], (3, 2, 3)).astype(np.float32)
    sure = RecordedConfidence(said, np.arange(3), said)
    trace = Trace(hits[:, 0], hits, None, 3, confidence=sure)
    assert [(row["right"], row["tokens"]) for row in reliability([trace], 0)] == [
        (2 / 3, 3),
        (0, 1),
    ]


def test_the_calibrated_rule_compares_the_chance_that_a_token_is_reached() -> None:
    """At threshold 0.5 nothing stops an always right draft, though it says 0.5 or less."""
    doubting = [
        trace.__class__(
            trace.beta, trace.ratio, None, TOKENS,
            confidence=RecordedConfidence(*(
                each if each.ndim == 1 else each / 2 for each in trace.confidence or ()
            )),
        )
        for trace in texts(4, np.ones_like)
    ]  # fmt: skip
    lengths = {
        name: replayed(doubting, RULES[name], [0.5], drawn=False).acceptances[1]
        for name in ("product", "calibrated")
    }
    assert lengths["calibrated"].tokens_per_call(LONGEST) == pytest.approx(TOKENS / 100)
    assert lengths["product"].tokens_per_call(LONGEST) < 2.1


def test_texts_without_confidence_are_refused() -> None:
    bare = Trace(np.ones(3), np.ones(3), None, 3)
    with pytest.raises(ValueError, match="a calibration needs traces with the draft's confidence"):
        reliability([bare], 0)
