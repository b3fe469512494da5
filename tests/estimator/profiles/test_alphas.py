"""Acceptance rates over all texts, and by category."""

import numpy as np
import pytest

from estimator.profiles.alphas import alpha_by_category, measured_alpha
from estimator.traces.traces import Trace


def text(*beta: float) -> Trace:
    values = np.array(beta)
    return Trace(values, values, None, len(values))


TEXTS = [text(0.5, 0.7), text(0.1), text(0.9, 0.9, 0.6)]


def test_each_category_has_the_rate_of_its_own_texts() -> None:
    by_category = alpha_by_category(TEXTS, ["code", None, "code"]) | alpha_by_category(
        TEXTS, [None, "prose", None]
    )
    assert list(by_category) == ["code", "prose"]
    assert by_category["code"] == measured_alpha([TEXTS[0], TEXTS[2]])
    assert by_category["code"].value == pytest.approx((0.5 + 0.7 + 0.9 + 0.9 + 0.6) / 5)
    assert (by_category["code"].tokens, by_category["code"].prompts) == (5, 2)
    assert by_category["prose"].value == pytest.approx(0.1)
    assert by_category["prose"].low is None


def test_prompts_without_category_are_in_none() -> None:
    assert alpha_by_category(TEXTS, [None] * 3) == {}


def test_every_prompt_needs_a_category_or_none() -> None:
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        alpha_by_category(TEXTS, ["code"])
