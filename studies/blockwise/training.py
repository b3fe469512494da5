"""Training blockwise heads: on a frozen model's states, or together with the model.

    L = sum over j of lambda_j L_j,   L_j = -log p_j(y_{i+j} | x_1..x_i),   lambda_j = 1

Kim et al. 2024 (blockwise drafts), appendix C.1. For a frozen model L_1 is constant. The states of
its text are computed once and saved, so that a step trains only the heads.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from tqdm import tqdm

from reference.atomic import whole_file
from reference.training.loop import Trained, Training, train
from studies.blockwise.heads import Heads

SHARD = 32


def windows_of(stream: Tensor, length: int, *, heads: int) -> Tensor:
    """Returns a text in windows, shape (windows, length), without the rest at its end.

    Args:
      stream: ids, shape (tokens,).
      length: tokens in a window; a shorter text is one window.
      heads: h; each window must be long enough for the last head to predict a token.

    Raises ValueError if text or windows are too short for h heads.
    """
    if len(stream) <= heads:
        raise ValueError(
            f"a training text must have more tokens than there are heads, {heads}, "
            f"got {len(stream)}"
        )
    if length <= heads:
        raise ValueError(f"a window must be longer than there are heads, {heads}, got {length}")
    length = min(length, len(stream))
    return stream[: len(stream) // length * length].view(-1, length)


def states_and_logits(module: Any, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the inputs and outputs of a decoder-only model's output embedding.

    ids: shape (texts, length).

    Returns:
      states, shape (texts, length, width), and logits, shape (texts, length, vocabulary).
    """
    read: list[Tensor] = []
    hook = module.get_output_embeddings().register_forward_pre_hook(
        lambda _, given: read.append(given[0])
    )
    try:
        logits: Tensor = module(input_ids=ids.to(module.device), use_cache=False).logits
    finally:
        hook.remove()
    return read[0], logits


@torch.no_grad()
def kept_states(module: Any, windows: Tensor, folder: Path, *, texts: int = 8) -> Tensor:
    """Returns a frozen model's states along windows, from files written on the first run.

    Args:
      windows: ids, shape (windows, length).
      folder: safetensors files with SHARD windows each; existing ones are read.

    Returns:
      shape (windows, length, width), float16, on the CPU.

    Raises ValueError if a file belongs to other windows.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts: list[Tensor] = []
    shards = tqdm(windows.split(SHARD), desc="states", unit_scale=SHARD, disable=None)
    for number, shard in enumerate(shards):
        path = folder / f"{number}.safetensors"
        if not path.exists():
            made = [states_and_logits(module, part)[0].half().cpu() for part in shard.split(texts)]
            with whole_file(path) as partial:
                save_file({"ids": shard, "states": torch.cat(made)}, partial)
        held = load_file(path)
        if not torch.equal(held["ids"], shard):
            raise ValueError(f"{path} must hold states of this text, got another text's")
        parts.append(held["states"])
    return torch.cat(parts)


def tokens_ahead(windows: Tensor, heads: int) -> Tensor:
    """Returns the tokens that heads 2..h are trained on: the tokens 2..h places after each token.

    A view of shape (windows, length - h, h - 1) of ids of shape (windows, length).
    """
    return windows[:, 2:].unfold(1, heads - 1, 1)[:, : windows.shape[1] - heads]


def drawn(count: int, size: int, *, seed: int, step: int) -> Tensor:
    """Returns `size` examples below `count`, drawn with replacement from seed and step."""
    generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
    return torch.randint(count, (size,), generator=generator)


def heads_loss(heads: Heads, embedding: nn.Module, states: Tensor, ahead: Tensor) -> Tensor:
    """Returns the sum over heads 2..h of the mean of -log p_j.

    states: shape (positions, width).
    ahead: the tokens to predict there, shape (positions, h - 1).
    """
    logits = embedding(heads(states)).float()
    return cross_entropy(logits.flatten(0, 1), ahead.T.flatten()) * (heads.count - 1)


def train_on_states(
    heads: Heads,
    embedding: nn.Module,
    training: Training,
    *,
    windows: Tensor,
    states: Tensor,
    positions: int,
) -> Trained:
    """Trains heads in place on a frozen model's states.

    Args:
      heads: on the embedding's device.
      embedding: the model's output embedding, frozen.
      windows: ids, shape (windows, length).
      states: hidden states along the windows, shape (windows, length, width).
      positions: number of positions drawn at random for each step.
    """
    usable = windows.shape[1] - heads.count
    device = heads.up.device

    def batch(step: int) -> Tensor:
        return drawn(len(windows) * usable, positions, seed=training.seed, step=step)

    def loss(chosen: Tensor, step: int) -> Tensor:
        row, place = chosen // usable, chosen % usable
        ahead = tokens_ahead(windows, heads.count)[row, place].to(device)
        return heads_loss(heads, embedding, states[row, place].float().to(device), ahead)

    return _train(heads, training, batch, loss)


def train_jointly(
    heads: Heads,
    module: Any,
    training: Training,
    *,
    windows: Tensor,
    texts: int,
) -> Trained:
    """Trains heads and their model together, in place; L_1 is the model's own loss.

    windows: ids, shape (windows, length).
    texts: number of windows drawn at random for each step.
    """
    both = nn.ModuleDict({"model": module, "heads": heads})
    embedding = module.get_output_embeddings()

    def batch(step: int) -> Tensor:
        return windows[drawn(len(windows), texts, seed=training.seed, step=step)]

    def loss(ids: Tensor, step: int) -> Tensor:
        ids = ids.to(module.device)
        states, logits = states_and_logits(module, ids)
        own = cross_entropy(logits[:, :-1].float().flatten(0, 1), ids[:, 1:].flatten())
        ahead = tokens_ahead(ids, heads.count)
        inside = states[:, : ahead.shape[1]]
        return own + heads_loss(heads, embedding, inside.flatten(0, 1), ahead.flatten(0, 1))

    return _train(both, training, batch, loss)


def _train(
    module: nn.Module,
    training: Training,
    batch: Callable[[int], Tensor],
    loss: Callable[[Tensor, int], Tensor],
) -> Trained:
    optimizer = torch.optim.AdamW(module.parameters(), betas=(0.9, 0.95), weight_decay=0.01)
    return train(module, training, batch=batch, loss=loss, optimizers=[optimizer])


@torch.no_grad()
def head_accuracy(
    heads: Heads, embedding: nn.Module, *, windows: Tensor, states: Tensor
) -> list[float]:
    """Returns how often the likeliest token of each head 2..h is the text's token.

    windows: ids of text that was not trained on, shape (windows, length).
    states: hidden states along the windows, shape (windows, length, width).
    """
    ahead = tokens_ahead(windows, heads.count)
    right = torch.zeros(heads.count - 1)
    for row, expected in zip(states, ahead, strict=True):
        inside = row[: len(expected)].to(heads.up.device, heads.up.dtype)
        guessed = embedding(heads(inside)).argmax(dim=-1).cpu()
        right += (guessed == expected.T).float().mean(dim=1)
    return (right / len(windows)).tolist()
