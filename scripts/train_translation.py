"""Trains a larger and a smaller T5 that translate German into English, as a target and its draft.

    python scripts/train_translation.py --data multi30k-de-en -o build/translation
    specplan validate --target build/translation/larger --draft build/translation/smaller \
        --prompts build/translation/prompts.jsonl

--data is a folder with Multi30k's task 1 (Elliott et al. 2016; 29,000 captions of pictures):
train, val and test_2016_flickr, .de.gz and .en.gz, one sentence a line. It is for research, so no
copy comes with this project: https://github.com/multi30k/dataset, data/task1/raw.

Both models learn from the same sentences, as the pairs of Kim et al. 2023 (section 4.1) did;
neither is distilled. BLEU (sacrebleu's default, greedy decoding) is over test_2016_flickr, whose
sentences, with their references, are also what prompts.jsonl holds; calibration.jsonl holds
training sentences, for `specplan align`. An interrupted run goes on from its last checkpoint; a
model that the output folder already has is left as it is.

On Linux, a memory allocator that keeps freed memory makes steps several times as fast:
MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000.
"""

import argparse
import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import sacrebleu
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

from reference.training.loop import muon_and_adamw

VOCABULARY = 3000
UNKNOWN = "<unk>"
BATCH = 64  # sentences
PEAK_RATE = 4e-3
SMOOTHING = 0.1
DROPOUT = 0.1
PROMPTS = 1000
CALIBRATION = 2000


SHAPES = {"smaller": Shape(96, 384, 4, 2, 1, 1600), "larger": Shape(160, 640, 4, 2, 6, 2000)}

# A unigram model of both languages by SentencePiece, like T5's.
PIECES = Pieces(
    models.Unigram(),
    trainers.UnigramTrainer(
        vocab_size=VOCABULARY, special_tokens=[PAD, END, UNKNOWN], unk_token=UNKNOWN,
        show_progress=False,
    ),
    pre_tokenizers.Punctuation(),
    UNKNOWN,
)  # fmt: skip
Ids = list[list[int]]


def sentences(data: Path, split: str, language: str) -> list[str]:
    """Returns a split's sentences."""
    with gzip.open(data / f"{split}.{language}.gz", "rt", encoding="utf-8", newline="\n") as file:
        return [line.strip() for line in file]


def batch_of(step: int, lengths: np.ndarray, seed: int) -> Tensor:
    """Returns the indices of a step's sentences, which are about equally long.

    Each epoch is cut into batches of neighbours in an order by length, ties and more broken
    at random.
    """
    batches = len(lengths) // BATCH
    epoch, number = divmod(step, batches)
    generator = np.random.default_rng([seed, epoch])
    order = np.argsort(lengths + generator.uniform(0, 3, len(lengths)))
    chosen = generator.permutation(batches)[number]
    return torch.from_numpy(order[chosen * BATCH : (chosen + 1) * BATCH])


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a T5 pair that translates.")
    parser.add_argument("--data", type=Path, required=True, help="folder with Multi30k, task 1")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for the pair")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, help="for each of the two models")
    arguments = parser.parse_args()
    output: Path = arguments.output
    output.mkdir(parents=True, exist_ok=True)

    german, english = (sentences(arguments.data, "train", name) for name in ("de", "en"))
    tested, references = (
        sentences(arguments.data, "test_2016_flickr", name) for name in ("de", "en")
    )
    tokenizer = kept_tokenizer(output / "tokenizer", PIECES, german + english)
    given: Ids = tokenizer(german)["input_ids"]
    wanted: Ids = tokenizer(english)["input_ids"]
    lengths = np.array([len(row) for row in wanted])
    write_prompts(output / "prompts.jsonl", tested[:PROMPTS], references[:PROMPTS])
    write_prompts(output / "calibration.jsonl", german[:CALIBRATION], english[:CALIBRATION])

    def loss(model: T5ForConditionalGeneration, chosen: Tensor) -> Tensor:
        rows = chosen.tolist()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return pair_loss(
                model,
                [given[row] for row in rows],
                [wanted[row] for row in rows],
                smoothing=SMOOTHING,
            )

    def judged(model: T5ForConditionalGeneration) -> dict[str, object]:
        outputs = greedy_texts(model, tokenizer, tested)
        return {
            "task": "translate German captions into English (Multi30k)",
            "sentences_per_step": BATCH,
            "test_bleu": sacrebleu.corpus_bleu(outputs, [references]).score,
        }

    lessons = Lessons(
        batch=lambda step: batch_of(step, lengths, arguments.seed),
        loss=loss,
        optimizers=muon_and_adamw,
        judged=judged,
        peak_rate=PEAK_RATE,
        dropout=DROPOUT,
        seed=arguments.seed,
    )
    steps = arguments.steps
    shapes = {
        name: shape if steps is None else replace(shape, steps=steps)
        for name, shape in SHAPES.items()
    }
    train_pair(output, tokenizer, shapes, lessons)


if __name__ == "__main__":
    main()
