"""What the training scripts of the embedded pair share: its shape, its text, its optimiser."""

import json
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from tqdm import tqdm
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from reference.files.whole_file import whole_file

VOCABULARY = 2048
POSITIONS = 512
TOKENS_PER_STEP = 4096
PEAK_RATE = 3e-3
WARMUP_STEPS = 100
CHECKPOINT_STEPS = 200


def read(paths: list[Path]) -> list[str]:
    """Returns the files' texts, unreadable bytes replaced."""
    return [path.read_text(encoding="utf-8", errors="replace") for path in paths]


def encode(tokenizer: PreTrainedTokenizerFast, texts: list[str]) -> Tensor:
    """Returns all texts as one stream of ids, an end of text before each; shape (tokens,)."""
    tokenizer.model_max_length = int(1e9)   # whole files are encoded: no warning about length
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
    """Trains the model in place, resuming from and saving to work/name.safetensors.

    Args:
      loss_of: of (batch, step); a scalar.
      work: also holds stages.jsonl, to which a row is added: stage, steps, seconds.
    """
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
            with whole_file(checkpoint) as partial:
                save_file(tensors, partial)
    if begun < steps:
        log_stage(work, name, steps=steps - begun, seconds=time.perf_counter() - started)


def log_stage(work: Path, stage: str, **counted: float) -> None:
    """Adds a row to work/stages.jsonl: what a stage did, and its seconds."""
    with (work / "stages.jsonl").open("a") as log:
        log.write(json.dumps({"stage": stage, **counted}) + "\n")


def logged_stages(work: Path) -> list[dict[str, object]]:
    """Returns the rows of work/stages.jsonl."""
    return [json.loads(line) for line in (work / "stages.jsonl").read_text().splitlines()]
