"""What the training scripts of the embedded pair share: its shape, its text, its stages."""

import json
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from reference.training.loop import Training, train
from reference.training.optimizers import muon_and_adamw
from reference.training.schedule import Schedule

VOCABULARY = 2048
POSITIONS = 512
TOKENS_PER_STEP = 4096
PEAK_RATE = 3e-3
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


def log_stage(work: Path, stage: str, **counted: float) -> None:
    """Adds a row to work/stages.jsonl: what a stage did, and its seconds."""
    with (work / "stages.jsonl").open("a") as log:
        log.write(json.dumps({"stage": stage, **counted}) + "\n")


def logged_stages(work: Path) -> list[dict[str, object]]:
    """Returns the rows of work/stages.jsonl."""
    return [json.loads(line) for line in (work / "stages.jsonl").read_text().splitlines()]
