"""Which mean a number is."""

import numpy as np
import pytest

from estimator.traces.traces import Trace, alpha


def test_alpha_is_a_mean_over_tokens_so_that_long_texts_weigh_more() -> None:
    def text(tokens: int, beta: float) -> Trace:
        values = np.full(tokens, beta)
        return Trace(beta=values, ratio=values, drafted=None, limit=tokens)

    assert alpha([text(90, 0.9), text(10, 0.4)]) == pytest.approx(0.85)
