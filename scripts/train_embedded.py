"""Trains the embedded tokenizer, target and draft on the standard library's own source.

    python scripts/train_embedded.py --work build/embedded

Four stages, each resumable from its last checkpoint in --work:

1. a byte-level BPE tokenizer of 2,048 tokens;
2. the target, grown: 6, then 12, then 24 layers of width 128. A deeper model starts as the
   shallower one with an identity layer after each of its layers, so no training is lost;
3. the draft, one layer of width 256, distilled from the target's laws along the training text:
   first by cross-entropy, then by 1 - sum min(p, q) itself (Leviathan et al. 2023, section 6:
   "optimizing M_q for alpha directly");
4. both written as float16 safetensors in Hugging Face format, with a note of data, steps and loss.

On Linux, a memory allocator that keeps freed memory halves the time:
MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000.

Text: every .py file of this Python's standard library, except tests, tables of data (encodings,
pydoc_data) and what `reference.embedded.held_out` reserves for prompts and validation.
"""

import argparse
import json
import math
import os
import platform
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor, nn
from tqdm import tqdm
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from reference.embedded import END_OF_TEXT, library_files

VOCABULARY = 2048
POSITIONS = 512
TARGET_WIDTH, TARGET_FEEDFORWARD, TARGET_HEADS = 128, 352, 4
DRAFT_WIDTH, DRAFT_FEEDFORWARD, DRAFT_HEADS = 256, 704, 4
TOKENS_PER_STEP = 4096
# (layers, steps, sequence length): the learning rate decays to 0 in the last of them.
TARGET_STAGES = [(6, 2000, 256), (12, 1400, 256), (24, 800, 512)]
DRAFT_STEPS = 3000
# Of the target's next-token law the draft is taught the likeliest tokens.
LIKELIEST = 32
PEAK_RATE = 3e-3
WARMUP_STEPS = 100
CHECKPOINT_STEPS = 200
VALIDATION_BATCHES = 16


def train_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """Returns a byte-level BPE tokenizer whose id 0 is the end of text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END_OF_TEXT,
        clean_up_tokenization_spaces=False,
        model_max_length=POSITIONS,
    )


def encode(tokenizer: PreTrainedTokenizerFast, texts: list[str]) -> Tensor:
    """Returns all texts as one stream of ids, an end of text before each; shape (tokens,)."""
    stream: list[int] = []
    for text in texts:
        stream += [tokenizer.eos_token_id, *tokenizer(text)["input_ids"]]
    return torch.tensor(stream)


def llama(layers: int, width: int, feedforward: int, heads: int) -> LlamaForCausalLM:
    """Returns a freshly initialised Llama-shaped model with tied embeddings."""
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=width,
            intermediate_size=feedforward,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            num_key_value_heads=heads,
            max_position_embeddings=POSITIONS,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=0,
        )
    )


def grown(model: LlamaForCausalLM) -> LlamaForCausalLM:
    """Returns a model of twice the layers that computes the same function.

    Each layer is followed by a copy of itself whose two output projections are zero.
    """
    layers = 2 * model.config.num_hidden_layers
    deeper = llama(layers, TARGET_WIDTH, TARGET_FEEDFORWARD, TARGET_HEADS)
    state = dict(model.state_dict())
    for name, value in model.state_dict().items():
        if not name.startswith("model.layers."):
            continue
        _, _, layer, rest = name.split(".", 3)
        output = rest.startswith(("self_attn.o_proj", "mlp.down_proj"))
        state[f"model.layers.{2 * int(layer)}.{rest}"] = value
        state[f"model.layers.{2 * int(layer) + 1}.{rest}"] = value * 0 if output else value
    deeper.load_state_dict(state)
    return deeper


class Optimizer:
    """Muon for the matrices inside the layers, AdamW for embeddings and norms."""

    def __init__(self, model: LlamaForCausalLM) -> None:
        matrices = [p for p in model.model.layers.parameters() if p.ndim == 2]
        inside = {id(p) for p in matrices}
        others = [p for p in model.parameters() if id(p) not in inside]
        self.parts = [
            torch.optim.Muon(matrices, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(others, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
        ]

    def step(self, rate: float) -> None:
        for part in self.parts:
            for group in part.param_groups:
                group["lr"] = rate
            part.step()
            part.zero_grad()

    def state(self) -> dict[str, Tensor]:
        """Returns the optimisers' tensors under flat names, for a safetensors file."""
        return {
            f"{number}.{parameter}.{key}": torch.as_tensor(value)
            for number, part in enumerate(self.parts)
            for parameter, values in part.state_dict()["state"].items()
            for key, value in values.items()
        }

    def load(self, flat: dict[str, Tensor]) -> None:
        for number, part in enumerate(self.parts):
            whole = part.state_dict()
            for name, value in flat.items():
                part_number, parameter, key = name.split(".")
                if int(part_number) == number:
                    whole["state"].setdefault(int(parameter), {})[key] = value
            part.load_state_dict(whole)


def rate_at(step: int, steps: int, decays: bool) -> float:
    """Returns the learning rate: linear warm-up, constant, then (if it decays) linear to 0."""
    warm = min(1.0, (step + 1) / WARMUP_STEPS)
    remaining = (steps - step) / (0.7 * steps) if decays else 1.0
    return PEAK_RATE * warm * min(1.0, remaining)


def batches(stream: Tensor, length: int, steps: int, seed: int) -> Iterator[Tensor]:
    """Yields `steps` random batches of TOKENS_PER_STEP tokens, shape (sequences, length)."""
    generator = np.random.default_rng(seed)
    sequences = TOKENS_PER_STEP // length
    for _ in range(steps):
        starts = torch.from_numpy(generator.integers(0, len(stream) - length, sequences))
        yield stream[starts[:, None] + torch.arange(length)]


def window_batches(windows: int, steps: int, seed: int) -> Iterator[Tensor]:
    """Yields `steps` random rows of indices of windows, TOKENS_PER_STEP tokens each."""
    generator = np.random.default_rng(seed)
    for _ in range(steps):
        chosen = generator.integers(0, windows, (1, TOKENS_PER_STEP // POSITIONS))
        yield torch.from_numpy(chosen)


def data_loss(model: LlamaForCausalLM, batch: Tensor) -> Tensor:
    """Returns the mean negative log-likelihood of each next token, in nats."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(batch).logits[:, :-1]
    return nn.functional.cross_entropy(logits.float().flatten(0, 1), batch[:, 1:].flatten())


def atomically(write: Callable[[Path], object], path: Path) -> None:
    """Calls write on a temporary neighbour of path, then renames it into place."""
    temporary = path.with_suffix(".tmp")
    write(temporary)
    os.replace(temporary, path)


def train(
    model: LlamaForCausalLM,
    *,
    name: str,
    batches: Iterator[Tensor],
    steps: int,
    decays: bool,
    loss_of: Callable[[Tensor, int], Tensor],
    work: Path,
) -> None:
    """Trains the model in place, resuming from and saving to work/name.safetensors."""
    checkpoint = work / f"{name}.safetensors"
    optimizer = Optimizer(model)
    begun = 0
    if checkpoint.exists():
        flat = load_file(checkpoint)
        begun = int(flat.pop("step"))
        model.load_state_dict({k[6:]: v for k, v in flat.items() if k.startswith("model.")})
        optimizer.load({k[6:]: v for k, v in flat.items() if k.startswith("optim.")})
    started = time.perf_counter()
    smooth = math.nan
    progress = tqdm(batches, total=steps, desc=name, mininterval=15)
    for step, batch in enumerate(progress):
        if step < begun:
            continue
        loss = loss_of(batch, step)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step(rate_at(step, steps, decays))
        smooth = loss.item() if math.isnan(smooth) else 0.98 * smooth + 0.02 * loss.item()
        progress.set_postfix(loss=f"{smooth:.3f}")
        if (step + 1) % CHECKPOINT_STEPS == 0 or step + 1 == steps:
            tensors = {f"model.{k}": v for k, v in model.state_dict().items()}
            tensors["model.lm_head.weight"] = model.lm_head.weight.detach().clone()
            tensors |= {f"optim.{k}": v for k, v in optimizer.state().items()}
            tensors["step"] = torch.tensor(step + 1)
            atomically(lambda path, t=tensors: save_file(t, path), checkpoint)  # type: ignore[misc]
    with (work / "seconds.jsonl").open("a") as log:
        row = {"stage": name, "steps": steps - begun, "seconds": time.perf_counter() - started}
        log.write(json.dumps(row) + "\n")


@torch.inference_mode()
def validate(model: LlamaForCausalLM, stream: Tensor) -> float:
    """Returns the loss per token over held-out text, in nats."""
    held = batches(stream, POSITIONS, VALIDATION_BATCHES, seed=1)
    return float(np.mean([data_loss(model, batch).item() for batch in held]))


def laws(model: LlamaForCausalLM, batch: Tensor) -> Tensor:
    """Returns the log-probabilities of every next token, shape (tokens, vocabulary)."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(batch).logits
    return torch.log_softmax(logits.float().flatten(0, 1), dim=-1)


@torch.inference_mode()
def lessons(target: LlamaForCausalLM, stream: Tensor, path: Path) -> dict[str, Tensor]:
    """Returns the target's likeliest next tokens along the whole stream, computed once.

    Returns:
      "windows", shape (windows, POSITIONS): the ids; "tokens" and "p", shape (windows, POSITIONS,
      LIKELIEST): the likeliest next tokens and their probabilities.
    """
    if path.exists():
        return load_file(path)
    windows = stream[: len(stream) // POSITIONS * POSITIONS].view(-1, POSITIONS)
    parts = []
    for batch in tqdm(windows.split(TOKENS_PER_STEP // POSITIONS), desc="lessons", mininterval=15):
        p, tokens = laws(target, batch).exp().topk(LIKELIEST, dim=-1)
        parts.append((tokens.short(), p.half()))
    taught = {
        "windows": windows.clone(),
        "tokens": torch.cat([part[0] for part in parts]).view(-1, POSITIONS, LIKELIEST),
        "p": torch.cat([part[1] for part in parts]).view(-1, POSITIONS, LIKELIEST),
    }
    atomically(lambda temporary: save_file(taught, temporary), path)
    return taught


def distillation(
    taught: dict[str, Tensor], draft: LlamaForCausalLM
) -> Callable[[Tensor, int], Tensor]:
    """Returns the draft's loss: cross-entropy for a quarter of the steps, then 1 - sum min(p, q).

    Both over the target's likeliest tokens. A batch is a row of indices of windows.
    """

    def loss(batch: Tensor, step: int) -> Tensor:
        tokens = taught["tokens"][batch[0]].flatten(0, 1).long()
        p = taught["p"][batch[0]].flatten(0, 1).float()
        log_q = laws(draft, taught["windows"][batch[0]]).gather(1, tokens)
        if step < DRAFT_STEPS // 4:
            return -(p * log_q).sum(dim=-1).mean()
        return 1 - torch.minimum(p, log_q.exp()).sum(dim=-1).mean()

    return loss


@torch.inference_mode()
def mean_overlap(target: LlamaForCausalLM, draft: LlamaForCausalLM, stream: Tensor) -> float:
    """Returns the mean of sum min(p, q) over held-out text."""
    held = batches(stream, POSITIONS, VALIDATION_BATCHES, seed=1)
    return float(
        np.mean(
            [
                torch.minimum(laws(target, b).exp(), laws(draft, b).exp()).sum(-1).mean().item()
                for b in held
            ]
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the embedded pair.")
    parser.add_argument("--work", type=Path, required=True, help="checkpoints and results")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    work: Path = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(arguments.seed)

    texts, held_texts = (
        [path.read_text(encoding="utf-8", errors="replace") for path in library_files(held_out)]
        for held_out in (False, True)
    )
    folder = work / "target"
    if (folder / "tokenizer.json").exists():
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    else:
        tokenizer = train_tokenizer(texts)
        tokenizer.save_pretrained(folder)
    tokenizer.model_max_length = int(1e9)   # whole files are encoded here: no warning about length
    stream, held = encode(tokenizer, texts), encode(tokenizer, held_texts)
    print(f"{len(stream):,} training tokens, {len(held):,} held out", flush=True)

    target = llama(TARGET_STAGES[0][0], TARGET_WIDTH, TARGET_FEEDFORWARD, TARGET_HEADS)
    for number, (layers, steps, length) in enumerate(TARGET_STAGES):
        if number > 0:
            target = grown(target)
        current = target
        train(
            current,
            name=f"target-{layers}",
            batches=batches(stream, length, steps, arguments.seed + number),
            steps=steps,
            decays=number == len(TARGET_STAGES) - 1,
            loss_of=lambda batch, step, model=current: data_loss(model, batch),  # type: ignore[misc]
            work=work,
        )
        print(f"target, {layers} layers: held-out loss {validate(target, held):.4f}", flush=True)

    taught = lessons(target, stream, work / "lessons.safetensors")
    draft = llama(1, DRAFT_WIDTH, DRAFT_FEEDFORWARD, DRAFT_HEADS)
    train(
        draft,
        name="draft",
        batches=window_batches(len(taught["windows"]), DRAFT_STEPS, arguments.seed + 100),
        steps=DRAFT_STEPS,
        decays=True,
        loss_of=distillation(taught, draft),
        work=work,
    )
    overlap = mean_overlap(target, draft, held)
    print(f"draft: held-out sum min(p, q) {overlap:.4f}", flush=True)

    for name, model in (("target", target), ("draft", draft)):
        model.half().save_pretrained(work / name)
    tokenizer.model_max_length = POSITIONS
    tokenizer.save_pretrained(work / "target")   # the draft's is the same
    rows = [json.loads(line) for line in (work / "seconds.jsonl").read_text().splitlines()]
    stages = [row for row in rows if row["steps"] > 0]   # not those resumed when finished
    note = {
        "data": f"standard library of CPython {platform.python_version()}",
        "training_tokens": len(stream),
        "held_out_tokens": len(held),
        "seed": arguments.seed,
        "tokens_per_step": TOKENS_PER_STEP,
        "stages": stages,
        "target_held_out_loss": validate(target.float(), held),
        "draft_held_out_loss": validate(draft.float(), held),
        "held_out_overlap": overlap,
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, torch {torch.__version__}",
        "date": date.today().isoformat(),
    }
    text = json.dumps(note, indent=2) + "\n"
    atomically(lambda path: path.write_text(text), work / "training.json")


if __name__ == "__main__":
    main()
