"""Acceptance rates over texts."""

import numpy as np
import pytest

from estimator.profiles.workloads import measured_alpha
from estimator.traces.traces import Trace


def text(*beta: float) -> Trace:
    values = np.array(beta)
    return Trace(values, values, None, len(values))


TEXTS = [text(0.5, 0.7), text(0.1), text(0.9, 0.9, 0.6)]


def test_the_rate_is_over_tokens_not_over_texts() -> None:
    measured = measured_alpha([TEXTS[0], TEXTS[2]])
    assert measured.value == pytest.approx((0.5 + 0.7 + 0.9 + 0.9 + 0.6) / 5)
    assert (measured.tokens, measured.prompts) == (5, 2)
    assert measured.low is not None
    assert measured.high is not None
    assert measured.low < measured.value < measured.high


def test_one_text_has_no_interval() -> None:
    measured = measured_alpha([TEXTS[1]])
    assert (measured.value, measured.low, measured.high) == (pytest.approx(0.1), None, None)
