"""Trains the embedded target's blockwise heads, the target frozen.

    python scripts/train_embedded_heads.py --work build/heads

Nine heads, the target's own included: eight networks 128 - 256 - 128 on the target's last state,
1.05 MB as float16. They learn the true tokens 2 to 9 places ahead (Kim et al. 2024, appendix C.1)
in library text that is not held out; the target's states along it are computed once and kept in
--work, and what is there is gone on from.
"""

import json
import platform

import torch
from torch import Tensor
from training import POSITIONS, begun, encode, frozen_target, library

from reference.training.loop import Schedule, Training
from studies.blockwise.heads import Heads, save_heads
from studies.blockwise.training import head_accuracy, kept_states, train_on_states, windows_of

HEADS, HIDDEN = 9, 256
WINDOWS, HELD_OUT_WINDOWS = 640, 64
STEPS, PEAK_RATE = 2500, 3e-3
POSITIONS_PER_STEP = 512


def chosen_windows(stream: Tensor, count: int, seed: int) -> Tensor:
    """Returns windows of all of the target's positions, drawn from the whole of a text."""
    windows = windows_of(stream, POSITIONS, heads=HEADS)
    generator = torch.Generator().manual_seed(seed)
    return windows[torch.randperm(len(windows), generator=generator)[:count]]


def main() -> None:
    work, seed = begun("Train the embedded target's heads.", seed=200)
    target, tokenizer = frozen_target()
    windows = chosen_windows(encode(tokenizer, library(held=False)), WINDOWS, 0)
    states = kept_states(target, windows, work / "library")
    held = chosen_windows(encode(tokenizer, library(held=True)), HELD_OUT_WINDOWS, 1)
    held_states = kept_states(target, held, work / "held-out")

    heads = Heads(heads=HEADS, width=target.config.hidden_size, hidden=HIDDEN)
    train_on_states(
        heads,
        target.lm_head,
        Training("heads", Schedule(STEPS, PEAK_RATE), work / "heads.safetensors", seed=seed),
        windows=windows,
        states=states,
        positions=POSITIONS_PER_STEP,
    )
    note = {
        "model": "embedded",
        "data": f"standard library of CPython {platform.python_version()}",
        "training_tokens": windows.numel(),
        "steps": STEPS,
        "positions_per_step": POSITIONS_PER_STEP,
        "seed": seed,
        "held_out_accuracy": head_accuracy(heads, target.lm_head, windows=held, states=held_states),
    }
    save_heads(work / "heads", heads, target, note)
    print(json.dumps(note, indent=2))


if __name__ == "__main__":
    main()
