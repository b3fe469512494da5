"""Trains a larger and a smaller T5 that spell numbers out in words, as a target and its draft.

    python scripts/train_spelling.py -o build/spelling
    specplan validate --target build/spelling/larger --draft build/spelling/smaller \
        --prompts build/spelling/prompts.jsonl

"40217" becomes "forty thousand two hundred seventeen". The task is checkable, the texts are long
enough to decode speculatively, and the encoder has something to say. Both models learn from the
same data, as the T5 pairs of Leviathan et al. 2023 (section 4.1) did; neither is distilled.

Numbers above 99 that are divisible by 16 are held out: the accuracy printed is over them, and
prompts.jsonl holds some with their spellings; calibration.jsonl, for `specplan align`, holds
numbers that are not held out. An interrupted run goes on from its last checkpoint; a model that the
output folder already has is left as it is.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from t5_pair import (
    END,
    PAD,
    Lessons,
    Pieces,
    Shape,
    greedy_texts,
    kept_tokenizer,
    pair_loss,
    train_pair,
    write_prompts,
)
from tokenizers import models, pre_tokenizers, trainers
from torch import Tensor
from transformers import T5ForConditionalGeneration

DIGITS = 6
HELD_OUT = 16
VOCABULARY = 64
STEPS = 2000
SHAPES = {"larger": Shape(64, 128, 4, 8, 8, STEPS), "smaller": Shape(64, 128, 4, 1, 1, STEPS)}
BATCH = 32
PEAK_RATE = 2e-3
CHECKED = 500
PROMPTS = {"prompts": 64, "calibration": 512}  # numbers of at least five digits

# Single digits, and pieces of number words.
PIECES = Pieces(
    models.BPE(),
    trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[PAD, END], initial_alphabet=list("0123456789"),
        show_progress=False,
    ),
    pre_tokenizers.Digits(individual_digits=True),
)  # fmt: skip
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


def numbers_of(step: int, seed: int) -> Tensor:
    """Returns the numbers that a step is trained on, shape (BATCH,)."""
    generator = np.random.default_rng([seed, step])
    return torch.tensor(numbers(BATCH, held_out=False, generator=generator))


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a T5 pair that spells numbers out.")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for the pair")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS, help="for each of the two models")
    parser.add_argument("--smaller-steps", type=int, help="for the smaller one, if others")
    arguments = parser.parse_args()
    output: Path = arguments.output
    output.mkdir(parents=True, exist_ok=True)

    generator = np.random.default_rng(arguments.seed)
    known = numbers(5000, held_out=False, generator=generator)
    checked = numbers(CHECKED, held_out=True, generator=generator)
    tokenizer = kept_tokenizer(output / "tokenizer", PIECES, [spelled(n) for n in known])
    for name, held in (("prompts", checked), ("calibration", known)):
        long_ones = [n for n in dict.fromkeys(held) if n >= 10 ** (DIGITS - 2)][: PROMPTS[name]]
        write_prompts(
            output / f"{name}.jsonl", [str(n) for n in long_ones], [spelled(n) for n in long_ones]
        )

    def loss(model: T5ForConditionalGeneration, batch: Tensor) -> Tensor:
        return pair_loss(
            model,
            tokenizer([str(n) for n in batch.tolist()])["input_ids"],
            tokenizer([spelled(n) for n in batch.tolist()])["input_ids"],
        )

    def judged(model: T5ForConditionalGeneration) -> dict[str, object]:
        texts = greedy_texts(model, tokenizer, [str(n) for n in checked])
        right = [text == spelled(n) for text, n in zip(texts, checked, strict=True)]
        return {
            "task": f"spell out numbers of 1 to {DIGITS} digits",
            "numbers_per_step": BATCH,
            "held_out_accuracy": float(np.mean(right)),
        }

    lessons = Lessons(
        batch=lambda step: numbers_of(step, arguments.seed + 1),
        loss=loss,
        optimizers=lambda model: [torch.optim.AdamW(model.parameters(), weight_decay=0.01)],
        judged=judged,
        peak_rate=PEAK_RATE,
        dropout=0.0,
        seed=arguments.seed,
    )
    steps = dict.fromkeys(SHAPES, arguments.steps)
    if arguments.smaller_steps is not None:
        steps["smaller"] = arguments.smaller_steps
    shapes = {name: replace(shape, steps=steps[name]) for name, shape in SHAPES.items()}
    train_pair(output, tokenizer, shapes, lessons)


if __name__ == "__main__":
    main()
