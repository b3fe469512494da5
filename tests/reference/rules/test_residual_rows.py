"""The law of a rejected token's replacement is each position's own."""

import torch

from reference.laws.laws import Dense, OneHot
from reference.rules.strict import residual

P = torch.tensor([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])


def test_a_position_without_anything_left_falls_back_to_p_whatever_the_others_have() -> None:
    q = Dense(torch.tensor([[0.5, 0.5, 0.0], [0.5, 0.25, 0.25]]))
    assert residual(P, q).tolist() == [[0.5, 0.5, 0.0], [0.0, 0.0, 0.25]]


def test_a_certain_draft_leaves_all_of_p_but_its_token() -> None:
    certain = torch.tensor([[1.0, 0.0, 0.0]])
    q = OneHot(torch.tensor([0, 2]))
    assert residual(torch.cat([certain, P[1:]]), q).tolist() == [[1.0, 0.0, 0.0], [0.25, 0.25, 0.0]]
