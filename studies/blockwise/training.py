"""Training blockwise heads: on a frozen model's states, or together with the model.

    L = sum over j of L_j,   L_j = -log p_j(y_{i+j} | x_1..x_i)

Kim et al. 2024 (blockwise drafts), appendix C.1, with all weights 1. A frozen model's states are
computed once and saved, so that a step trains only the heads.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from tqdm import tqdm

from estimator.loading.folders import load_named_tokenizer
from estimator.progress import SILENT, Progress
from estimator.training.heads import model_of, stream_of, training_of
from reference.files import whole_file
from reference.training.loop import Trained, Training, train
from studies.blockwise.heads import Heads, save_heads
from studies.blockwise.request import TrainHeads, require_window

SHARD = 32


def train_heads(request: TrainHeads, progress: Progress = SILENT) -> dict[str, Any]:
    """Trains and writes heads; returns a summary with each head's accuracy on held-out text.

    A run that was interrupted continues from its files next to the output.
    """
    output, work = request.output, request.work
    tokenizer = load_named_tokenizer(request.target)
    stream = stream_of(request, tokenizer, progress)
    windows = windows_of(stream, request.window, heads=request.heads)
    held = max(len(windows) // 20, 1)
    learnt = windows[:-held] if len(windows) > 1 else windows
    model = model_of(request, windows.shape[1])
    torch.manual_seed(request.seed)
    embedding = model.module.get_output_embeddings()
    width = embedding.weight.shape[1]
    hidden = 2 * width if request.hidden is None else request.hidden
    heads = Heads(heads=request.heads, width=width, hidden=hidden).to(model.device)
    settings = {"heads": request.heads, "hidden": hidden}
    training = training_of(
        request, "model and heads" if request.joint else "heads", learnt, settings
    )
    if request.joint:
        texts = max(request.positions // learnt.shape[1], 1)
        done = train_jointly(heads, model.module, training, windows=learnt, texts=texts)
    else:
        model.module.requires_grad_(False)
        states = kept_states(model.module, learnt, work / "states")
        positions = request.positions
        done = train_on_states(
            heads, embedding, training, windows=learnt, states=states, positions=positions
        )
    states = kept_states(model.module, windows[-held:], work / "held-out")
    accuracy = head_accuracy(heads, embedding, windows=windows[-held:], states=states)
    report: dict[str, Any] = {
        "model": str(output) if request.joint else request.target,
        "joint": request.joint,
        "steps": request.steps,
        "training_tokens": learnt.numel(),
        "held_out_accuracy": accuracy,
    }
    unfinished = output.with_name(f"{output.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    if request.joint:
        model.module.save_pretrained(unfinished)
        tokenizer.save_pretrained(unfinished)
    save_heads(unfinished, heads, model.module, report)
    unfinished.rename(output)
    shutil.rmtree(work)
    return report | {
        "output": str(output),
        **settings,
        "resumed_at_step": done.resumed,
        "seconds": done.seconds,
        "loss": done.loss,
    }


def windows_of(stream: Tensor, length: int, *, heads: int) -> Tensor:
    """Returns a text cut into windows, shape (windows, length); an incomplete last one is dropped.

    A text shorter than `length` is one window. Refuses lengths or texts of at most `heads` tokens.
    """
    if len(stream) <= heads:
        raise ValueError(
            f"a training text must have more tokens than there are heads, {heads}, "
            f"got {len(stream)}"
        )
    require_window(length, heads=heads)
    length = min(length, len(stream))
    return stream[: len(stream) // length * length].view(-1, length)


def states_and_logits(module: Any, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the inputs and outputs of a decoder-only model's output embedding.

    ids of shape (texts, length) give shapes (texts, length, width) and (texts, length, vocabulary).
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
    """Returns a frozen model's last hidden states, shape (windows, length, width), float16.

    windows: ids, shape (windows, length).
    folder: folder of the files with the states, SHARD windows in each. The first run writes them,
      later runs read them; files with states of other windows are refused.
    texts: number of windows in one pass.
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
    """Returns the tokens 2..h places after each token, shape (windows, length - h, h - 1)."""
    return windows[:, 2:].unfold(1, heads - 1, 1)[:, : windows.shape[1] - heads]


def heads_loss(heads: Heads, embedding: nn.Module, states: Tensor, ahead: Tensor) -> Tensor:
    """Returns the loss: the mean of -log p_j over positions, summed over heads j = 2..h.

    states: shape (positions, width); ahead: tokens to predict, shape (positions, h - 1).
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

    embedding: the model's output embedding, on the device of the heads.
    windows: ids, shape (windows, length).
    states: the model's states along the windows, shape (windows, length, width).
    positions: number of positions drawn at random for each step.
    """
    usable, device = windows.shape[1] - heads.count, heads.up.device

    def loss(chosen: Tensor, step: int) -> Tensor:
        row, place = chosen // usable, chosen % usable
        ahead = tokens_ahead(windows, heads.count)[row, place].to(device)
        return heads_loss(heads, embedding, states[row, place].float().to(device), ahead)

    return _train(heads, training, loss, drawn=positions, below=len(windows) * usable)


def train_jointly(
    heads: Heads, module: Any, training: Training, *, windows: Tensor, texts: int
) -> Trained:
    """Trains heads and their model together, in place, on the sum of all losses.

    windows: ids, shape (windows, length).
    texts: number of windows drawn at random for each step.
    """
    both = nn.ModuleDict({"model": module, "heads": heads})
    embedding = module.get_output_embeddings()

    def loss(chosen: Tensor, step: int) -> Tensor:
        ids = windows[chosen].to(module.device)
        states, logits = states_and_logits(module, ids)
        loss_of_model = cross_entropy(logits[:, :-1].float().flatten(0, 1), ids[:, 1:].flatten())
        ahead = tokens_ahead(ids, heads.count)
        inside = states[:, : ahead.shape[1]]
        return loss_of_model + heads_loss(
            heads, embedding, inside.flatten(0, 1), ahead.flatten(0, 1)
        )

    return _train(both, training, loss, drawn=texts, below=len(windows))


def _train(
    module: nn.Module,
    training: Training,
    loss: Callable[[Tensor, int], Tensor],
    *,
    drawn: int,
    below: int,
) -> Trained:
    """Trains a module; each step's `loss` gets `drawn` random integers below `below`."""

    def batch(step: int) -> Tensor:
        generator = torch.Generator().manual_seed(training.seed * 1_000_003 + step)
        return torch.randint(below, (drawn,), generator=generator)

    optimizer = torch.optim.AdamW(module.parameters(), betas=(0.9, 0.95), weight_decay=0.01)
    return train(module, training, batch=batch, loss=loss, optimizers=[optimizer])


@torch.no_grad()
def head_accuracy(
    heads: Heads, embedding: nn.Module, *, windows: Tensor, states: Tensor
) -> list[float]:
    """Returns the accuracy of each head 2..h: how often its likeliest token is the text's token.

    windows, states: as in `train_on_states`, of text that was not used in training.
    """
    ahead = tokens_ahead(windows, heads.count)
    right = torch.zeros(heads.count - 1)
    for row, expected in zip(states, ahead, strict=True):
        inside = row[: len(expected)].to(heads.up.device, heads.up.dtype)
        guessed = embedding(heads(inside)).argmax(dim=-1).cpu()
        right += (guessed == expected.T).float().mean(dim=1)
    return (right / len(windows)).tolist()
