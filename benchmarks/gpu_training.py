"""The paper's GPT-like pair, trained on the Python sources installed on this machine.

Leviathan et al. 2023, section 4.2: a target of 97 M parameters (dim 768, feed-forward 3072, 12
layers, 12 heads) and a draft of 6 M (dim 256, feed-forward 1024, 2 layers, 4 heads), 8k tokens,
GELU. Theirs were trained on lm1b; this one writes Python.
"""

import hashlib
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from reference.training.loop import Schedule, Trained, Training, muon_and_adamw, train

END = "<|endoftext|>"


@dataclass(frozen=True, slots=True)
class Size:
    """The shape of one model."""

    width: int
    feedforward: int
    layers: int
    heads: int


@dataclass(frozen=True, slots=True)
class Plan:
    """How the pair is trained.

    positions: number of positions of both models.
    files: pattern of the installed Python files to train on.
    corpus_bytes: largest size of the training text.
    held_out: one file in this many is not trained on.
    sequences, length: number of sequences in each step, and their tokens.
    target_steps, draft_steps: training steps.
    """

    target: Size
    draft: Size
    vocabulary: int
    positions: int
    files: str
    corpus_bytes: int
    held_out: int
    sequences: int
    length: int
    target_steps: int
    draft_steps: int


PAPER = Plan(
    Size(768, 3072, 12, 12), Size(256, 1024, 2, 4), vocabulary=8192, positions=1088,
    files="**/*.py", corpus_bytes=400_000_000, held_out=50, sequences=64, length=512,
    target_steps=2500, draft_steps=4000,
)  # fmt: skip
TINY = Plan(
    Size(32, 64, 1, 2), Size(16, 32, 1, 2), vocabulary=300, positions=64,
    files="*.py", corpus_bytes=200_000, held_out=3, sequences=4, length=32,
    target_steps=4, draft_steps=4,
)  # fmt: skip


def sources(plan: Plan) -> tuple[list[Path], list[Path]]:
    """Returns installed Python files to train on, and held-out ones."""
    seen, split, total = set(), ([], []), 0
    folders = {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}
    for path in sorted(path for folder in folders for path in Path(folder).glob(plan.files)):
        content = path.read_bytes()
        digest = hashlib.sha256(content).digest()
        if len(content) < 500 or digest in seen:
            continue
        if total + len(content) > plan.corpus_bytes:
            break
        seen.add(digest)
        total += len(content)
        split[int.from_bytes(digest[:4], "big") % plan.held_out == 0].append(path)
    return split


def tokenizer_of(texts: list[str], size: int) -> PreTrainedTokenizerFast:
    """Returns a byte-level BPE tokenizer whose id 0 is the end of text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=[END], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END)


def gpt(size: Size, plan: Plan) -> GPT2LMHeadModel:
    """Returns a fresh GPT-like model."""
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=plan.vocabulary, n_positions=plan.positions, n_embd=size.width,
            n_inner=size.feedforward, n_layer=size.layers, n_head=size.heads,
            activation_function="gelu", resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
            tie_word_embeddings=False, bos_token_id=None, eos_token_id=0,
        )
    )  # fmt: skip


def trained(
    name: str, size: Size, plan: Plan, stream: Tensor, steps: int, work: Path, *, seed: int
) -> tuple[Any, Trained]:
    """Returns a model trained on a stream of ids, resumed from its checkpoint in work."""
    torch.manual_seed(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    module = gpt(size, plan).to(device)
    offsets = torch.arange(plan.length)

    def batch(step: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
        last = len(stream) - plan.length
        starts = torch.randint(last, (plan.sequences,), generator=generator)
        return stream[starts[:, None] + offsets].to(device)

    def loss(rows: Tensor, _: int) -> Tensor:
        with torch.autocast(device, dtype=torch.bfloat16):
            logits = module(rows).logits[:, :-1]
        return nn.functional.cross_entropy(logits.float().flatten(0, 1), rows[:, 1:].flatten())

    done = train(
        module,
        Training(
            name,
            Schedule(steps, 1e-3, warmup=max(1, steps // 20)),
            work / f"{name}.safetensors",
            seed=seed,
            settings={"plan": repr(plan)},
            checkpoint_steps=500,
        ),
        batch=batch,
        loss=loss,
        optimizers=muon_and_adamw(module),
    )
    return module, done
