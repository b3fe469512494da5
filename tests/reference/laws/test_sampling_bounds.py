"""The ends of every sampling setting's range, and what the law is there."""

from typing import Any

import pytest
import torch

from reference.laws import Sampling

LOGITS = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()


@pytest.mark.parametrize(
    ("settings", "law"),
    [
        ({"top_k": 1}, [1.0, 0.0, 0.0, 0.0]),
        ({"min_p": 1.0}, [1.0, 0.0, 0.0, 0.0]),
        ({"min_p": 0.0}, [0.5, 0.3, 0.15, 0.05]),
        ({"top_p": 1.0}, [0.5, 0.3, 0.15, 0.05]),
        ({"repetition_penalty": 1.0}, [0.5, 0.3, 0.15, 0.05]),
        ({"temperature": 1e-6}, [1.0, 0.0, 0.0, 0.0]),
    ],
)
def test_the_ends_of_a_range_belong_to_it(settings: dict[str, Any], law: list[float]) -> None:
    found = Sampling(**settings).laws(LOGITS, [0]).dense(4)[0]
    torch.testing.assert_close(found, torch.tensor(law))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_p": 1.5}, r"min_p must lie in \[0, 1\], got 1.5"),
        ({"repetition_penalty": float("inf")}, "repetition_penalty must be finite .*, got inf"),
        ({"repetition_penalty": float("nan")}, "repetition_penalty must be finite .*, got nan"),
    ],
)
def test_beyond_the_ends_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="^" + message):
        Sampling(**settings)


@pytest.mark.parametrize("temperature", [0.5, 2.0, 4.0])
def test_a_temperature_is_a_root_of_the_law(temperature: float) -> None:
    roots = torch.tensor([0.5, 0.3, 0.15, 0.05]) ** (1 / temperature)
    found = Sampling(temperature).laws(LOGITS, [0]).dense(4)[0]
    torch.testing.assert_close(found, roots / roots.sum())


def test_what_reaches_top_p_exactly_is_the_nucleus() -> None:
    # Four tokens of a quarter each, exactly: three of them have a mass of 0.75.
    law = Sampling(top_p=0.75).laws(torch.zeros(1, 4), [0]).dense(4)
    assert int((law > 0).sum()) == 3
