"""Trains the embedded tokenizer and target on the standard library's own source.

    python scripts/train_embedded_target.py --work build/target

Three stages, each resumable from its last checkpoint in --work:

1. a byte-level BPE tokenizer of 2,048 tokens;
2. the target, grown: 6, then 12, then 24 layers of width 128. A deeper model starts as the
   shallower one with an identity layer after each of its layers, so no training is lost;
3. it is written as float16 safetensors in Hugging Face format, with a note of data, steps, loss.

On Linux, a memory allocator that keeps freed memory halves the time:
MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000.

Text: every .py file of this Python's standard library, except tests, tables of data (encodings,
pydoc_data) and what `reference.models.embedded.held_out` reserves for prompts and validation.
`scripts/train_embedded_draft.py` distils the draft.
"""

from collections.abc import Callable

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor, nn
from training import (
    POSITIONS,
    TOKENS_PER_STEP,
    VOCABULARY,
    begun,
    encode,
    library,
    llama,
    logged_stages,
    made_on,
    train_stage,
    write_note,
)
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from reference.models.embedded import END_OF_TEXT

WIDTH, FEEDFORWARD, HEADS = 128, 352, 4
# (layers, steps, sequence length): the learning rate decays to 0 in the last of them.
STAGES = [(6, 2000, 256), (12, 1400, 256), (24, 800, 512)]
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


def grown(model: LlamaForCausalLM) -> LlamaForCausalLM:
    """Returns a model of twice the layers that computes the same function.

    Each layer is followed by a copy of itself whose two output projections are zero.
    """
    deeper = llama(2 * model.config.num_hidden_layers, WIDTH, FEEDFORWARD, HEADS)
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


def windows(stream: Tensor, length: int, steps: int, seed: int) -> Callable[[int], Tensor]:
    """Returns what gives each step its random TOKENS_PER_STEP tokens, shape (sequences, length)."""
    generator = np.random.default_rng(seed)
    starts = [
        generator.integers(0, len(stream) - length, TOKENS_PER_STEP // length) for _ in range(steps)
    ]

    def batch(step: int) -> Tensor:
        return stream[torch.from_numpy(starts[step])[:, None] + torch.arange(length)]

    return batch


def data_loss(model: LlamaForCausalLM, batch: Tensor) -> Tensor:
    """Returns the mean negative log-likelihood of each next token, in nats."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(batch).logits[:, :-1]
    return nn.functional.cross_entropy(logits.float().flatten(0, 1), batch[:, 1:].flatten())


@torch.inference_mode()
def held_out_loss(model: LlamaForCausalLM, stream: Tensor) -> float:
    """Returns the loss per token over held-out text, in nats."""
    batch = windows(stream, POSITIONS, VALIDATION_BATCHES, seed=1)
    losses = [data_loss(model, batch(number)).item() for number in range(VALIDATION_BATCHES)]
    return float(np.mean(losses))


def main() -> None:
    work, seed = begun("Train the embedded target.", seed=0)
    texts, held_texts = (library(held=held) for held in (False, True))
    folder = work / "target"
    if (folder / "tokenizer.json").exists():
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    else:
        tokenizer = train_tokenizer(texts)
        tokenizer.save_pretrained(folder)
    stream, held = encode(tokenizer, texts), encode(tokenizer, held_texts)
    print(f"{len(stream):,} training tokens, {len(held):,} held out", flush=True)

    target = llama(STAGES[0][0], WIDTH, FEEDFORWARD, HEADS)
    for number, (layers, steps, length) in enumerate(STAGES):
        if number > 0:
            target = grown(target)
        current = target
        train_stage(
            current,
            name=f"target-{layers}",
            steps=steps,
            decays=number == len(STAGES) - 1,
            batch=windows(stream, length, steps, seed + number),
            loss=lambda batch, step, model=current: data_loss(model, batch),  # type: ignore[misc]
            work=work,
        )
        print(f"{layers} layers: held-out loss {held_out_loss(target, held):.4f}", flush=True)

    target.half().save_pretrained(folder)
    note = {
        "training_tokens": len(stream),
        "held_out_tokens": len(held),
        "seed": seed,
        "tokens_per_step": TOKENS_PER_STEP,
        "stages": logged_stages(work),
        "held_out_loss": held_out_loss(target.float(), held),
    }
    write_note(folder, note | made_on())


if __name__ == "__main__":
    main()
