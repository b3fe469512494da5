"""Trains the embedded target's EAGLE-3 head, the target frozen.

    python scripts/train_embedded_eagle3.py --work build/eagle3

One layer of the target's width on its states at layers 2, 12 and 21, its output matrix over the
whole vocabulary, in the layout that vLLM and SGLang load. It learns the target's laws four tokens
ahead from every position, half in library text that is not held out and half in text that the
target writes itself: first by cross-entropy, then by 1 - alpha (as the embedded draft model does).
The run resumes from the files in --work.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from train_embedded_draft import own_lessons
from training import (
    POSITIONS,
    begun,
    encode,
    frozen_target,
    kept,
    library,
    log_stage,
    logged_stages,
    made_on,
    write_note,
)

from reference.state_heads.eagle3 import Eagle3, shape_for
from reference.state_heads.eagle3_folder import save_eagle3
from reference.training.loop import Schedule, Training
from reference.training.unrolling import (
    Windows,
    acceptance_ahead,
    train_unrolled,
    windows_along,
)

UNROLLED = 4
STEPS, PEAK_RATE, WARMUP, DECAY = 500, 3e-3, 30, 0.24
LIBRARY_WINDOWS, HELD_OUT_WINDOWS, OWN_BATCHES = 400, 16, 6
POSITIONS_PER_STEP = 1024


def main() -> None:
    work, seed = begun("Train the embedded target's EAGLE-3 head.", seed=300)
    target, tokenizer = frozen_target()
    stream, held_stream = (encode(tokenizer, library(held=held)) for held in (False, True))
    head = Eagle3(shape_for(target), target)
    with torch.no_grad():
        head.lm_head.weight.copy_(target.lm_head.weight)

    def along(name: str, ids: Callable[[], Tensor]) -> Windows:
        def make() -> dict[str, Tensor]:
            windows = windows_along(target, ids(), head.taps, name="the embedded target")
            return {"ids": windows.ids, "states": windows.states, "last": windows.last}

        return Windows(**kept(name, work, make))

    def drawn(text: Tensor, count: int) -> Tensor:
        windows = text[: len(text) // POSITIONS * POSITIONS].view(-1, POSITIONS)
        order = torch.randperm(len(windows), generator=torch.Generator().manual_seed(seed))
        return windows[order[:count]]

    read = along("library", lambda: drawn(stream, LIBRARY_WINDOWS))
    held = along("held-out", lambda: drawn(held_stream, HELD_OUT_WINDOWS))
    written = along("own", lambda: own_lessons(target, stream, OWN_BATCHES, seed)[0])
    trained = train_unrolled(
        head,
        target.lm_head,
        Training(
            "eagle3",
            Schedule(STEPS, PEAK_RATE, WARMUP, DECAY),
            work / "head.safetensors",
            seed=seed,
            checkpoint_steps=20,
        ),
        [read, written],
        steps=UNROLLED,
        positions=POSITIONS_PER_STEP,
    )
    log_stage(work, "head", steps=trained.steps, seconds=trained.seconds)
    save_eagle3(work / "eagle3", head)
    note = {
        "library_tokens": read.ids.numel(),
        "own_tokens": written.ids.numel(),
        "seed": seed,
        "steps": STEPS,
        "positions_per_step": POSITIONS_PER_STEP,
        "unrolled": UNROLLED,
        "stages": logged_stages(work),
        "held_out_acceptance": acceptance_ahead(head, target.lm_head, held, steps=8),
    }
    write_note(work / "eagle3", note | made_on())


if __name__ == "__main__":
    main()
