"""Reads several continuations in one pass: the attention mask and positions of a tree."""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from reference.models.model import Model

# Relative to the range of the logits: above rounding in half precision, far below the effect of
# reading the wrong tokens.
TRIAL_TOLERANCE = 0.02
# For each tested model: the largest difference between tree and path logits, and their range.
_STRAYS: WeakKeyDictionary[Model, tuple[float, float]] = WeakKeyDictionary()


def tree_mask(parents: Sequence[int], length: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Returns the attention mask and positions for tokens that branch (SpecInfer's tree).

    A token attends to the text before the tree, to its ancestors and to itself.

    Args:
      parents: for each token, the index of the token that it follows; -1: the text's last token.

    Returns:
      mask: to be added to attention scores, shape (1, 1, tokens, length + tokens).
      positions: shape (tokens,), int64.
    """
    tokens = len(parents)
    sees = torch.zeros(tokens, length + tokens, dtype=torch.bool)
    sees[:, :length] = True
    positions = torch.full((tokens,), length)
    for place, parent in enumerate(parents):
        if parent >= 0:
            sees[place] = sees[parent]
            positions[place] = positions[parent] + 1
        sees[place, length + place] = True
    mask = torch.zeros(sees.shape, dtype=dtype).masked_fill_(~sees, torch.finfo(dtype).min)
    return mask[None, None], positions


def require_branching(model: Model) -> None:
    """Refuses a model that reads a tree differently from its single paths.

    Tested on the model itself: sliding windows, relative positions and attention without masks all
    show in the logits. Each model is tested once.

    Args:
      model: the test overwrites its cache.
    """
    if model not in _STRAYS:
        _STRAYS[model] = _stray(model)
    apart, spread = _STRAYS[model]
    if not apart <= TRIAL_TOLERANCE * spread:
        raise ValueError(
            f"drafts that branch need a model that reads a tree by an attention mask, "
            f"got {model.name}, whose logits then change by {apart:.2g}"
        )


def _stray(model: Model) -> tuple[float, float]:
    """Returns the largest difference between tree and path logits, and the path logits' range."""
    ids = torch.arange(1, 6, device=model.device) % model.vocabulary
    _, second, third, fourth, fifth = ids.split(1)
    model.start(ids[:2].tolist())
    whole = model.extend(torch.cat([second, third, fourth, fifth]), (-1, 0, 0, 2))
    paths = []
    for path in (torch.cat([second, third]), torch.cat([second, fourth, fifth])):
        model.start(ids[:2].tolist())
        paths.append(model.extend(path)[1:])
    expected = torch.cat(paths).float()
    spread = float(expected.max() - expected.min())
    apart = float((whole[1:].float() - expected).abs().max())
    return apart, spread
