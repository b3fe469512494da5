"""Trains a larger and a smaller T5 that spell numbers out in words, as a target and its draft.

    python scripts/train_spelling.py -o build/spelling
    specplan validate --target build/spelling/larger --draft build/spelling/smaller \
        --prompts build/spelling/prompts.txt

"40217" becomes "forty thousand two hundred seventeen". The task is checkable, the texts are long
enough to decode speculatively, and the encoder has something to say. Both models learn from the
same data, as the T5 pairs of Leviathan et al. 2023 (section 4.1) did; neither is distilled.

Numbers above 99 that are divisible by 16 are held out: the accuracy printed is over them, and
prompts.txt holds some. An interrupted run goes on from its last checkpoint; a model that the
output folder already has is left as it is.
"""

import argparse
import json
import os
import platform
import shutil
import time
from datetime import date
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import Tensor, nn
from tqdm import tqdm
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

from reference.files.whole_file import whole_file

DIGITS = 6
HELD_OUT = 16
VOCABULARY = 64
PAD, END = "<pad>", "</s>"
WIDTH, FEEDFORWARD, HEADS = 64, 128, 4
LAYERS = {"larger": 8, "smaller": 1}   # in the encoder, and as many in the decoder
STEPS = 2000
BATCH = 32
PEAK_RATE = 2e-3
WARMUP_STEPS = 100
CHECKPOINT_STEPS = 100
CHECKED = 500
PROMPTS = 64

ONES = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def spelled(number: int) -> str:
    """Returns a number from 0 to 999,999 in words."""
    if number < 20:
        return ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return TENS[tens - 2] + (f"-{ONES[ones]}" if ones else "")
    size, name = (100, "hundred") if number < 1000 else (1000, "thousand")
    many, rest = divmod(number, size)
    return f"{spelled(many)} {name}" + (f" {spelled(rest)}" if rest else "")


def numbers(count: int, *, held_out: bool, generator: np.random.Generator) -> list[int]:
    """Returns random numbers, as many of one digit as of six; repeats may occur."""
    drawn: list[int] = []
    while len(drawn) < count:
        digits = int(generator.integers(1, DIGITS + 1))
        least = 0 if digits == 1 else 10 ** (digits - 1)
        number = int(generator.integers(least, 10**digits))
        if (number > 99 and number % HELD_OUT == 0) == held_out:
            drawn.append(number)
    return drawn


def train_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """Returns a BPE tokenizer of single digits and pieces of number words; texts end with END."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(), pre_tokenizers.Digits(individual_digits=True)]
    )
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[PAD, END],
        initial_alphabet=list("0123456789"),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {END}", special_tokens=[(END, tokenizer.token_to_id(END))]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=PAD, eos_token=END)


def t5(layers: int, tokenizer: PreTrainedTokenizerFast) -> T5ForConditionalGeneration:
    """Returns a freshly initialised T5."""
    return T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(tokenizer),
            d_model=WIDTH,
            d_kv=WIDTH // HEADS,
            d_ff=FEEDFORWARD,
            num_heads=HEADS,
            num_layers=layers,
            relative_attention_num_buckets=16,
            relative_attention_max_distance=64,
            dropout_rate=0.0,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            decoder_start_token_id=tokenizer.pad_token_id,
        )
    )


def batch_loss(
    model: T5ForConditionalGeneration, tokenizer: PreTrainedTokenizerFast, batch: list[int]
) -> Tensor:
    """Returns the mean negative log-likelihood of the spellings' tokens, in nats."""
    given = tokenizer([str(n) for n in batch], padding=True, return_tensors="pt")
    wanted = tokenizer([spelled(n) for n in batch], padding=True, return_tensors="pt").input_ids
    labels = wanted.masked_fill(wanted == tokenizer.pad_token_id, -100)
    loss: Tensor = model(
        input_ids=given.input_ids, attention_mask=given.attention_mask, labels=labels
    ).loss
    return loss


def save_checkpoint(
    model: nn.Module, optimizer: torch.optim.Optimizer, step: int, path: Path
) -> None:
    """Writes weights, optimiser state and the number of steps done, atomically."""
    tensors = {"step": torch.tensor(step)}
    for name, parameter in model.named_parameters():
        tensors[name] = parameter.detach()
        for key, value in optimizer.state[parameter].items():
            tensors[f"{name}|{key}"] = value
    with whole_file(path) as partial:
        save_file(tensors, partial)


@torch.no_grad()
def load_checkpoint(model: nn.Module, optimizer: torch.optim.Optimizer, path: Path) -> int:
    """Returns the number of steps done, after restoring weights and optimiser state."""
    tensors = load_file(path)
    for name, parameter in model.named_parameters():
        parameter.copy_(tensors[name])
        optimizer.state[parameter] = {
            key.rpartition("|")[2]: value
            for key, value in tensors.items()
            if key.startswith(f"{name}|")
        }
    return int(tensors["step"])


def train(
    model: T5ForConditionalGeneration,
    tokenizer: PreTrainedTokenizerFast,
    *,
    name: str,
    steps: int,
    seed: int,
    checkpoint: Path,
) -> None:
    """Trains the model in place, resuming from the checkpoint; the rate rises, then falls to 0."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK_RATE, weight_decay=0.01)
    begun = load_checkpoint(model, optimizer, checkpoint) if checkpoint.exists() else 0
    model.train()
    progress = tqdm(range(begun, steps), desc=name, initial=begun, total=steps, mininterval=5)
    for step in progress:
        rate = PEAK_RATE * min((step + 1) / WARMUP_STEPS, (steps - step) / steps)
        for group in optimizer.param_groups:
            group["lr"] = rate
        batch = numbers(BATCH, held_out=False, generator=np.random.default_rng([seed, step]))
        loss = batch_loss(model, tokenizer, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % 20 == 0:
            progress.set_postfix(loss=f"{loss.item():.3f}")
        if (step + 1) % CHECKPOINT_STEPS == 0:
            save_checkpoint(model, optimizer, step + 1, checkpoint)
    model.eval()


@torch.inference_mode()
def accuracy(
    model: T5ForConditionalGeneration, tokenizer: PreTrainedTokenizerFast, checked: list[int]
) -> float:
    """Returns the share of numbers whose greedy spelling is right to the last letter."""
    given = tokenizer([str(n) for n in checked], padding=True, return_tensors="pt")
    ids = model.generate(
        input_ids=given.input_ids,
        attention_mask=given.attention_mask,
        max_new_tokens=80,
        do_sample=False,
    )
    texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
    return float(np.mean([text == spelled(n) for text, n in zip(texts, checked, strict=True)]))


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a T5 pair that spells numbers out.")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for the pair")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS, help="for each of the two models")
    arguments = parser.parse_args()
    output: Path = arguments.output
    output.mkdir(parents=True, exist_ok=True)

    generator = np.random.default_rng(arguments.seed)
    known = numbers(5000, held_out=False, generator=generator)
    checked = numbers(CHECKED, held_out=True, generator=generator)
    tokenizer = train_tokenizer([spelled(n) for n in known])
    long_ones = [str(n) for n in dict.fromkeys(checked) if n >= 10 ** (DIGITS - 2)]
    (output / "prompts.txt").write_text("\n".join(long_ones[:PROMPTS]) + "\n")
    for name, layers in LAYERS.items():
        folder = output / name
        if folder.exists():
            print(f"{name}: already trained, left as it is", flush=True)
            continue
        torch.manual_seed(arguments.seed)
        model = t5(layers, tokenizer)
        began = time.perf_counter()
        checkpoint = output / f"{name}.checkpoint.safetensors"
        train(
            model,
            tokenizer,
            name=name,
            steps=arguments.steps,
            seed=arguments.seed + 1,
            checkpoint=checkpoint,
        )
        note = {
            "task": f"spell out numbers of 1 to {DIGITS} digits",
            "layers": layers,
            "parameters": model.num_parameters(),
            "steps": arguments.steps,
            "numbers_per_step": BATCH,
            "seed": arguments.seed,
            "seconds_since_last_resumed": round(time.perf_counter() - began, 1),
            "held_out_accuracy": accuracy(model, tokenizer, checked),
            "machine": f"{os.cpu_count()} cores, {platform.machine()}, torch {torch.__version__}",
            "date": date.today().isoformat(),
        }
        unfinished = output / f"{name}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        model.save_pretrained(unfinished)
        tokenizer.save_pretrained(unfinished)
        (unfinished / "training.json").write_text(json.dumps(note, indent=2) + "\n")
        unfinished.rename(folder)
        checkpoint.unlink(missing_ok=True)
        print(
            f"{name}: {layers} + {layers} layers, {note['parameters']:,} parameters, "
            f"{note['held_out_accuracy']:.1%} of {CHECKED} held-out numbers spelled right "
            f"({note['seconds_since_last_resumed']} s since last resumed)",
            flush=True,
        )


if __name__ == "__main__":
    main()
