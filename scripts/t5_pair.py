"""Shared by the scripts that train T5 pairs: tokenizer, models, loss, texts, prompts."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import Tensor, nn
from tqdm import tqdm
from training import made_on
from transformers import (
    DynamicCache,
    EncoderDecoderCache,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from reference.files import whole_file
from reference.training.alignment import publish
from reference.training.loop import Schedule, Training, train

IGNORED = -100
"""The label of padding, which T5's loss leaves out."""
PAD, END = "<pad>", "</s>"
BUCKETS = 16
TEXT_TOKENS = 80


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of a T5 model, and its number of training steps."""

    width: int
    feedforward: int
    heads: int
    encoder_layers: int
    decoder_layers: int
    steps: int


def t5(
    tokenizer: PreTrainedTokenizerFast, shape: Shape, *, dropout: float
) -> T5ForConditionalGeneration:
    """Returns a freshly initialised T5 whose texts begin with padding, as T5's do."""
    return T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(tokenizer),
            d_model=shape.width,
            d_kv=shape.width // shape.heads,
            d_ff=shape.feedforward,
            num_heads=shape.heads,
            num_layers=shape.encoder_layers,
            num_decoder_layers=shape.decoder_layers,
            relative_attention_num_buckets=BUCKETS,
            relative_attention_max_distance=4 * BUCKETS,
            dropout_rate=dropout,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            decoder_start_token_id=tokenizer.pad_token_id,
        )
    )


@dataclass(frozen=True, slots=True)
class Lessons:
    """The training of both models of a pair.

    batch: returns the batch of a step; loss: returns a model's loss on a batch.
    optimizers: returns a model's optimizers.
    judged: returns the note on a trained model's texts.
    """

    batch: Callable[[int], Tensor]
    loss: Callable[[T5ForConditionalGeneration, Tensor], Tensor]
    optimizers: Callable[[T5ForConditionalGeneration], list[torch.optim.Optimizer]]
    judged: Callable[[T5ForConditionalGeneration], dict[str, Any]]
    peak_rate: float
    dropout: float
    seed: int


def train_pair(
    output: Path, tokenizer: PreTrainedTokenizerFast, shapes: Mapping[str, Shape], lessons: Lessons
) -> None:
    """Trains each model into its folder, from its last checkpoint on; one that is there is left."""
    for name, shape in shapes.items():
        folder, checkpoint = output / name, output / f"{name}.checkpoint.safetensors"
        if folder.exists():
            print(f"{name}: already trained, left as it is", flush=True)
            continue
        torch.manual_seed(lessons.seed)
        model = t5(tokenizer, shape, dropout=lessons.dropout)
        schedule = Schedule(shape.steps, lessons.peak_rate)
        trained = train(
            model,
            Training(name, schedule, checkpoint, seed=lessons.seed),
            batch=lessons.batch,
            loss=lambda batch, _, model=model: lessons.loss(model, batch),  # type: ignore[misc]
            optimizers=lessons.optimizers(model),
        )
        note = {
            "layers": {"encoder": shape.encoder_layers, "decoder": shape.decoder_layers},
            "parameters": model.num_parameters(),
            "steps": shape.steps,
            "seed": lessons.seed,
            "seconds_since_last_resumed": round(trained.seconds, 1),
            **lessons.judged(model),
            **made_on(),
        }
        publish(folder, model, tokenizer, note)
        checkpoint.unlink(missing_ok=True)
        print(f"{name}: {json.dumps(note)}", flush=True)


@dataclass(frozen=True, slots=True)
class Pieces:
    """How a tokenizer cuts texts, whose words begin with a mark and which end with END.

    cut: characters at which text is split, in addition to words, before pieces are learnt.
    """

    model: models.Model
    trainer: trainers.Trainer
    cut: pre_tokenizers.PreTokenizer
    unknown: str | None = None

    def trained(self, texts: Sequence[str]) -> PreTrainedTokenizerFast:
        """Returns a tokenizer of pieces learnt from texts."""
        tokenizer = Tokenizer(self.model)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), self.cut])
        tokenizer.decoder = decoders.Metaspace()
        tokenizer.train_from_iterator(texts, self.trainer)
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"$A {END}", special_tokens=[(END, tokenizer.token_to_id(END))]
        )
        named = {} if self.unknown is None else {"unk_token": self.unknown}
        return PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, pad_token=PAD, eos_token=END, **named
        )


def kept_tokenizer(folder: Path, pieces: Pieces, texts: Sequence[str]) -> PreTrainedTokenizerFast:
    """Returns the tokenizer that the folder holds, after training it if there is none.

    Trained again it may number pieces of equal likelihood otherwise, and a run that goes on would
    go on with other ids.
    """
    if not folder.exists():
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        pieces.trained(texts).save_pretrained(unfinished)
        unfinished.rename(folder)
    loaded: PreTrainedTokenizerFast = PreTrainedTokenizerFast.from_pretrained(folder)
    return loaded


def padded(rows: Sequence[Sequence[int]], filler: int) -> Tensor:
    """Returns rows of ids in one tensor, filled up on the right; shape (rows, longest)."""
    return nn.utils.rnn.pad_sequence(
        [torch.tensor(row) for row in rows], batch_first=True, padding_value=filler
    )


def pair_loss(
    model: T5ForConditionalGeneration,
    given: Sequence[Sequence[int]],
    wanted: Sequence[Sequence[int]],
    *,
    smoothing: float = 0.0,
) -> Tensor:
    """Returns the mean negative log-likelihood of the wanted ids, in nats, labels smoothed."""
    padding = model.config.pad_token_id
    ids, labels = padded(given, padding), padded(wanted, IGNORED)
    logits = model(input_ids=ids, attention_mask=ids != padding, labels=labels).logits
    return nn.functional.cross_entropy(
        logits.float().flatten(0, 1), labels.flatten(), label_smoothing=smoothing
    )


@torch.inference_mode()
def greedy_texts(
    model: T5ForConditionalGeneration,
    tokenizer: PreTrainedTokenizerFast,
    texts: Sequence[str],
    *,
    batch: int = 100,
) -> list[str]:
    """Returns the model's greedy output for each of the texts."""
    outputs: list[str] = []
    for begin in tqdm(range(0, len(texts), batch), desc="decode", disable=None):
        given = tokenizer(list(texts[begin : begin + batch]), padding=True, return_tensors="pt")
        ids = model.generate(
            input_ids=given.input_ids,
            attention_mask=given.attention_mask,
            max_new_tokens=TEXT_TOKENS,
            do_sample=False,
            # Made by itself, `generate` would count the layers of the encoder.
            past_key_values=EncoderDecoderCache(DynamicCache(), DynamicCache()),
        )
        outputs += tokenizer.batch_decode(ids, skip_special_tokens=True)
    return outputs


def write_prompts(path: Path, prompts: Sequence[str], references: Sequence[str]) -> None:
    """Writes prompts with their references as JSON lines."""
    rows = [
        json.dumps({"prompt": prompt, "reference": reference}, ensure_ascii=False)
        for prompt, reference in zip(prompts, references, strict=True)
    ]
    with whole_file(path) as partial:
        partial.write_text("\n".join(rows) + "\n", encoding="utf-8")
