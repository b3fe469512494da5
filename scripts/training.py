"""Shared by the training scripts: the embedded pair's shape, text and stages, and their notes."""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from reference.files import whole_file
from reference.models.embedded import library_files, weights_folder
from reference.training.loop import Schedule, Training, muon_and_adamw, train

VOCABULARY = 2048
POSITIONS = 512
TOKENS_PER_STEP = 4096
PEAK_RATE = 3e-3
CHECKPOINT_STEPS = 200


def begun(description: str, *, seed: int) -> tuple[Path, int]:
    """Returns --work, made, and --seed, which PyTorch then draws by."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--work", type=Path, required=True, help="checkpoints and results")
    parser.add_argument("--seed", type=int, default=seed)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(arguments.seed)
    return arguments.work, arguments.seed


def library(*, held: bool) -> list[str]:
    """Returns the texts of the standard library, held out or not; unreadable bytes replaced."""
    return [path.read_text(encoding="utf-8", errors="replace") for path in library_files(held=held)]


def frozen_target() -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """Returns the embedded target, which learns no more, and its tokenizer."""
    folder = weights_folder("target")
    target = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    target.requires_grad_(False)
    return target, PreTrainedTokenizerFast.from_pretrained(folder)


def encode(tokenizer: PreTrainedTokenizerFast, texts: list[str]) -> Tensor:
    """Returns all texts as one stream of ids, an end of text before each; shape (tokens,)."""
    tokenizer.model_max_length = int(1e9)  # whole files are encoded: no warning about length
    stream: list[int] = []
    for text in texts:
        stream += [tokenizer.eos_token_id, *tokenizer(text)["input_ids"]]
    tokenizer.model_max_length = POSITIONS
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


def train_stage(
    model: LlamaForCausalLM,
    *,
    name: str,
    steps: int,
    decays: bool,
    batch: Callable[[int], Tensor],
    loss: Callable[[Tensor, int], Tensor],
    work: Path,
) -> None:
    """Trains the model in place by the library's loop, going on from work/name.safetensors.

    Args:
      decays: whether the learning rate falls to 0 over the last seven tenths of the steps.
      batch, loss: as for `reference.training.loop.train`.
      work: also holds stages.jsonl, to which a row is added: stage, steps, seconds.
    """
    trained = train(
        model,
        Training(
            name,
            Schedule(steps, PEAK_RATE, decay=0.7 if decays else 0.0),
            work / f"{name}.safetensors",
            checkpoint_steps=CHECKPOINT_STEPS,
        ),
        batch=batch,
        loss=loss,
        optimizers=muon_and_adamw(model),
    )
    if trained.steps > 0:
        log_stage(work, name, steps=trained.steps, seconds=trained.seconds)


def kept(name: str, work: Path, make: Callable[[], dict[str, Tensor]]) -> dict[str, Tensor]:
    """Returns the tensors that work/name.safetensors holds, after making them if it does not."""
    path = work / f"{name}.safetensors"
    if not path.exists():
        started = time.perf_counter()
        tensors = make()
        with whole_file(path) as partial:
            save_file(tensors, partial)
        seconds = time.perf_counter() - started
        log_stage(work, name, positions=tensors["ids"].numel(), seconds=seconds)
    return load_file(path)


def log_stage(work: Path, stage: str, **counted: float) -> None:
    """Adds a row to work/stages.jsonl: what a stage did, and its seconds."""
    with (work / "stages.jsonl").open("a") as log:
        log.write(json.dumps({"stage": stage, **counted}) + "\n")


def logged_stages(work: Path) -> list[dict[str, object]]:
    """Returns the rows of work/stages.jsonl."""
    return [json.loads(line) for line in (work / "stages.jsonl").read_text().splitlines()]


def made_on() -> dict[str, str]:
    """Returns the machine and the day, for a note."""
    return {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, torch {torch.__version__}",
        "date": date.today().isoformat(),
    }


def write_note(folder: Path, note: dict[str, Any]) -> None:
    """Writes training.json into a model's folder, and prints it."""
    data = {"data": f"standard library of CPython {platform.python_version()}"}
    text = json.dumps(data | note, indent=2) + "\n"
    with whole_file(folder / "training.json") as partial:
        partial.write_text(text, encoding="utf-8")
    print(text)
