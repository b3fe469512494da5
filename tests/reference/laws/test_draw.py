"""Draws from laws: in proportion to the weights, in double precision, from the generator given."""

import pytest
import torch
from torch import Tensor

from reference.laws import Dense, OneHot, concatenate, draw, likeliest, precise


def draw_at(share: float, weights: Tensor, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Returns what is drawn where the uniform draws are all the given share."""
    with monkeypatch.context() as patch:
        patch.setattr(
            torch, "rand", lambda shape, *, dtype, **_: torch.full(shape, share, dtype=dtype)
        )
        tokens: list[int] = draw(weights, torch.Generator()).flatten().tolist()
    return tokens


def test_the_token_is_the_first_beyond_the_generators_share_of_the_total() -> None:
    weights = torch.rand(3, 5000, generator=torch.Generator().manual_seed(1))
    for seed in range(20):
        tokens = draw(weights, torch.Generator().manual_seed(seed))
        share = torch.rand(3, 1, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        cumulative = weights.double().cumsum(dim=-1)
        # The share falls on an edge with odds of 1e-12.
        beyond = (cumulative <= share * cumulative[:, -1:]).sum(dim=-1)
        assert tokens.tolist() == beyond.tolist()
        assert Dense(weights).draw(torch.Generator().manual_seed(seed)).tolist() == beyond.tolist()


def test_weights_are_summed_in_double_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    # In single precision 2^24 + 1 is 2^24, and the second token could never be drawn.
    weights = torch.tensor([[2.0**24, 1.0, 1.0, 1.0, 1.0]])
    assert draw_at((2**24 + 0.5) / (2**24 + 4), weights, monkeypatch) == [1]


def test_the_first_and_the_last_token_are_drawn() -> None:
    generator = torch.Generator().manual_seed(0)
    assert draw(torch.eye(3), generator).tolist() == [0, 1, 2]


@pytest.mark.parametrize("shape", [(4,), (2, 4), (3, 2, 4)])
def test_every_row_has_its_own_token_whatever_stands_before_the_last_axis(
    shape: tuple[int, ...],
) -> None:
    weights = torch.zeros(shape)
    weights[..., 2] = 1.0
    tokens = draw(weights, torch.Generator().manual_seed(0))
    assert tokens.shape == shape[:-1]
    assert set(tokens.flatten().tolist()) == {2}


def test_weights_that_are_no_numbers_still_give_ids() -> None:
    tokens = draw(torch.full((2, 3), torch.nan), torch.Generator().manual_seed(0))
    assert all(0 <= token < 3 for token in tokens.tolist())


def test_double_precision_stays_and_half_becomes_single() -> None:
    for given, found in (
        (torch.float64, torch.float64),
        (torch.float32, torch.float32),
        (torch.bfloat16, torch.float32),
    ):
        assert precise(torch.zeros(2, dtype=given)).dtype == found


@pytest.mark.parametrize("width", [8, 4096])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_the_likeliest_is_the_first_of_the_largest_and_nan_is_larger_still(
    dtype: torch.dtype, width: int
) -> None:
    logits = torch.zeros(5, width, dtype=dtype)
    logits[1, 3:] = 2
    logits[2, 4:6] = torch.inf
    logits[3, [1, 5]] = torch.nan
    logits[4, :7] = -torch.inf
    assert likeliest(logits).tolist() == [0, 3, 4, 1, 7]


def test_a_certain_law_without_logits_hides_none() -> None:
    assert OneHot(torch.tensor([1])).at_temperature_one() is None


def test_a_greedy_law_keeps_the_logits_behind_each_row_wherever_it_goes() -> None:
    logits = torch.tensor([[0.0, 2.0, 1.0], [3.0, 0.0, 1.0], [0.0, 1.0, 2.0]])
    laws = OneHot(logits.argmax(dim=-1), logits)
    bare = OneHot(logits.argmax(dim=-1))
    for part, rows in (
        (laws.first(2), [0, 1]),
        (laws.at(torch.tensor([2, 0])), [2, 0]),
        (concatenate([laws.first(1), laws.at(torch.tensor([2]))]), [0, 2]),
    ):
        assert isinstance(part, OneHot)
        assert part.logits is not None
        assert part.logits.tolist() == logits[rows].tolist()
        assert part.tokens.tolist() == logits[rows].argmax(dim=-1).tolist()
    for without in (bare.first(1), bare.at(torch.tensor([1])), concatenate([laws, bare])):
        assert isinstance(without, OneHot)
        assert without.logits is None
