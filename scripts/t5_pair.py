"""What the scripts that train T5 pairs share: tokenizer, model, loss, texts, prompts."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from tqdm import tqdm
from transformers import (
    DynamicCache,
    EncoderDecoderCache,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from reference.atomic.whole_file import whole_file

IGNORED = -100
"""The label of padding, which T5's loss leaves out."""


def t5(
    tokenizer: PreTrainedTokenizerFast,
    *,
    width: int,
    feedforward: int,
    heads: int,
    encoder_layers: int,
    decoder_layers: int,
    buckets: int,
    dropout: float,
) -> T5ForConditionalGeneration:
    """Returns a freshly initialised T5 whose texts begin with padding, as T5's do."""
    return T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(tokenizer),
            d_model=width,
            d_kv=width // heads,
            d_ff=feedforward,
            num_heads=heads,
            num_layers=encoder_layers,
            num_decoder_layers=decoder_layers,
            relative_attention_num_buckets=buckets,
            relative_attention_max_distance=4 * buckets,
            dropout_rate=dropout,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            decoder_start_token_id=tokenizer.pad_token_id,
        )
    )


def kept_tokenizer(
    folder: Path, train: Callable[[], PreTrainedTokenizerFast]
) -> PreTrainedTokenizerFast:
    """Returns the tokenizer that the folder holds, after training it if there is none.

    Trained again it may number pieces of equal likelihood otherwise, and a run that goes on would
    go on with other ids.
    """
    if not folder.exists():
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        train().save_pretrained(unfinished)
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
    max_new_tokens: int,
    batch: int = 100,
) -> list[str]:
    """Returns the model's greedy output for each of the texts."""
    outputs: list[str] = []
    for begin in tqdm(range(0, len(texts), batch), desc="decode", disable=None):
        given = tokenizer(list(texts[begin : begin + batch]), padding=True, return_tensors="pt")
        ids = model.generate(
            input_ids=given.input_ids,
            attention_mask=given.attention_mask,
            max_new_tokens=max_new_tokens,
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
