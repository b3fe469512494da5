"""Distils the embedded draft from the embedded target.

    python scripts/train_embedded_draft.py --work build/draft

The draft is one layer of width 256. Stages, each resumable from what --work holds:

1. the target reads its training text, and writes text of its own after beginnings taken from it;
   what is kept is its last hidden state at every position (256 bytes), from which its whole law
   follows by one product with its embeddings;
2. the draft learns these laws, half of each from the library and half from the target's own text
   (alpha is an expectation over text that the target writes): first by cross-entropy, then by
   1 - sum min(p, q) itself (Leviathan et al. 2023, section 6: "optimizing M_q for alpha directly");
3. it is written as float16 safetensors in Hugging Face format, with a note of data, steps, loss.

On Linux, a memory allocator that keeps freed memory halves the time:
MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000.
"""

import platform
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm, trange
from training import (
    POSITIONS,
    TOKENS_PER_STEP,
    begun,
    encode,
    frozen_target,
    kept,
    library,
    llama,
    logged_stages,
    made_on,
    train_stage,
    write_note,
)
from transformers import LlamaForCausalLM, StaticCache

from reference.training.alignment import LOSSES

WIDTH, FEEDFORWARD, HEADS = 256, 704, 4
STEPS = 4000
CROSS_ENTROPY_STEPS = 1000
# The target's own text: windows of 128 tokens, of which the first 32 are the library's.
OWN_BATCHES = 60
OWN_SEQUENCES = 256
OWN_BEGINNING = 32
OWN_LENGTH = 128

Lessons = tuple[Tensor, Tensor]
"""Ids, shape (windows, length), and last hidden states, shape (windows, length, width)."""


@torch.inference_mode()
def library_lessons(target: LlamaForCausalLM, stream: Tensor) -> Lessons:
    """Returns the target's states along the whole stream, in windows of all its positions."""
    windows = stream[: len(stream) // POSITIONS * POSITIONS].view(-1, POSITIONS)
    states = [
        target.model(batch).last_hidden_state.half()
        for batch in tqdm(
            windows.split(TOKENS_PER_STEP // POSITIONS), desc="library", mininterval=15
        )
    ]
    return windows, torch.cat(states)


@torch.inference_mode()
def own_lessons(target: LlamaForCausalLM, stream: Tensor, batches: int, seed: int) -> Lessons:
    """Returns text that the target writes at temperature 1, with its states."""
    generator = torch.Generator().manual_seed(seed)
    windows, states = [], []
    for _ in trange(batches, desc="own text", mininterval=15):
        starts = torch.randint(len(stream) - OWN_BEGINNING, (OWN_SEQUENCES, 1), generator=generator)
        ids = stream[starts + torch.arange(OWN_BEGINNING)]
        cache = StaticCache(config=target.config, max_cache_len=OWN_LENGTH)
        state = target.model(ids, past_key_values=cache, use_cache=True).last_hidden_state
        read_ids, read_states = [ids], [state]
        for _ in range(OWN_LENGTH - OWN_BEGINNING):
            law = target.lm_head(read_states[-1][:, -1]).softmax(-1)
            ids = torch.multinomial(law, 1, generator=generator)
            state = target.model(ids, past_key_values=cache, use_cache=True).last_hidden_state
            read_ids.append(ids)
            read_states.append(state)
        windows.append(torch.cat(read_ids, dim=1))
        states.append(torch.cat(read_states, dim=1).half())
    return torch.cat(windows), torch.cat(states)


def chosen_windows(library: Lessons, written: Lessons, seed: int) -> Callable[[int], Tensor]:
    """Returns what gives each step random windows of the library (even steps) or its own text."""
    generator = np.random.default_rng(seed)
    counts = [(len(ids), TOKENS_PER_STEP // ids.shape[1]) for ids, _ in (library, written)]
    chosen = [generator.integers(0, *counts[step % 2]) for step in range(STEPS)]

    def batch(step: int) -> Tensor:
        return torch.from_numpy(chosen[step])

    return batch


def distillation(
    target: LlamaForCausalLM, draft: LlamaForCausalLM, library: Lessons, written: Lessons
) -> Callable[[Tensor, int], Tensor]:
    """Returns the draft's loss: cross-entropy at first, then 1 - sum min(p, q)."""

    def loss(chosen: Tensor, step: int) -> Tensor:
        ids, states = (library, written)[step % 2]
        with torch.no_grad():
            p = target.lm_head(states[chosen].float()).softmax(dim=-1)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = draft(ids[chosen]).logits
        name = "soft" if step < CROSS_ENTROPY_STEPS else "tv"
        return LOSSES[name](logits.float(), ids[chosen], lambda: p)

    return loss


@torch.inference_mode()
def mean_overlap(
    target: LlamaForCausalLM, draft: LlamaForCausalLM, lessons: Lessons, first: int
) -> float:
    """Returns the mean of sum min(p, q) over all positions from `first` on."""
    sums = []
    for ids, states in zip(*(part.split(8) for part in lessons), strict=True):
        p = target.lm_head(states[:, first:].float()).softmax(dim=-1)
        q = draft(ids).logits[:, first:].softmax(dim=-1)
        sums.append(torch.minimum(p, q).sum(dim=-1).mean(dim=-1))
    return torch.cat(sums).mean().item()


def main() -> None:
    work, seed = begun("Distil the embedded draft.", seed=100)
    target, tokenizer = frozen_target()
    stream, held_stream = (encode(tokenizer, library(held=held)) for held in (False, True))

    def lessons(name: str, make: Callable[[], Lessons]) -> Lessons:
        held = kept(name, work, lambda: dict(zip(("ids", "states"), make(), strict=True)))
        return held["ids"], held["states"]

    written = lessons("own", lambda: own_lessons(target, stream, OWN_BATCHES, seed))
    read = lessons("library", lambda: library_lessons(target, stream))
    held_own = lessons("held-own", lambda: own_lessons(target, held_stream, 1, seed + 1))
    held_read = lessons("held-library", lambda: library_lessons(target, held_stream))

    draft = llama(1, WIDTH, FEEDFORWARD, HEADS)
    train_stage(
        draft,
        name="draft",
        steps=STEPS,
        decays=True,
        batch=chosen_windows(read, written, seed),
        loss=distillation(target, draft, read, written),
        work=work,
    )
    draft.half().save_pretrained(work / "draft")
    draft.float()
    note = {
        "data": f"library of CPython {platform.python_version()} and the target's own text",
        "library_tokens": read[0].numel(),
        "own_tokens": written[0].shape[0] * (OWN_LENGTH - OWN_BEGINNING),
        "seed": seed,
        "tokens_per_step": TOKENS_PER_STEP,
        "stages": logged_stages(work),
        "held_out_overlap": mean_overlap(target, draft, held_read, 0),
        "held_out_overlap_own_text": mean_overlap(target, draft, held_own, OWN_BEGINNING - 1),
    }
    write_note(work / "draft", note | made_on())


if __name__ == "__main__":
    main()
