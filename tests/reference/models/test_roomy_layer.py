"""Layers with room ahead hold what transformers' own growing layers hold, and copy none of it."""

import random

import torch
from torch import Tensor
from transformers.cache_utils import DynamicLayer

from reference.models.cache_layers import GROWTH, RoomyLayer


def states(tokens: int) -> tuple[Tensor, Tensor]:
    """Returns keys and values, which need not be equally wide."""
    return torch.randn(1, 2, tokens, 3), torch.randn(1, 2, tokens, 5)


def test_steps_and_rollbacks_leave_what_a_growing_layer_holds() -> None:
    chance = random.Random(0)
    torch.manual_seed(0)
    own, theirs = RoomyLayer(), DynamicLayer()
    for step in range(300):
        keys, values = states(chance.choice((1, 1, 2, 5, GROWTH // 2 if step % 30 == 0 else 3)))
        for held, expected in zip(
            own.update(keys, values), theirs.update(keys, values), strict=True
        ):
            assert torch.equal(held, expected)
        drop = chance.randint(0, min(4, own.get_seq_length()))
        own.crop(-drop)
        theirs.crop(-drop)
        assert own.get_seq_length() == theirs.get_seq_length()
        assert own.get_mask_sizes(3) == theirs.get_mask_sizes(3)
    assert own.get_seq_length() > GROWTH


def test_tensors_stay_where_they_are_until_the_room_is_full() -> None:
    layer = RoomyLayer()
    layer.update(*states(3))
    place = layer.keys.data_ptr()
    for _ in range(GROWTH - 3):
        layer.update(*states(1))
        layer.crop(-1)
        layer.update(*states(1))
    assert (layer.keys.data_ptr(), layer.get_seq_length()) == (place, GROWTH)
    layer.update(*states(1))
    assert layer.keys.shape == (1, 2, 2 * GROWTH, 3)


def test_a_reset_layer_begins_anew() -> None:
    layer = RoomyLayer()
    layer.update(*states(4))
    layer.reset()
    assert layer.get_seq_length() == 0
    keys, values = states(2)
    held = layer.update(keys, values)
    assert torch.equal(held[0], keys)
    assert torch.equal(held[1], values)


def test_all_may_be_dropped() -> None:
    layer = RoomyLayer()
    layer.update(*states(4))
    layer.crop(-4)
    keys, values = states(1)
    assert torch.equal(layer.update(keys, values)[0], keys)
