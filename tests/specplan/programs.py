"""Names that tests of the program import: its results, and a tokenizer made on the spot."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from click.testing import Result
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

Run = Callable[..., Result]
RunJson = Callable[..., Any]

# Fixed: the tiny models' output depends on it.
TEXT = Path(__file__).with_name("corpus.txt").read_text(encoding="utf-8")

# A test may append its own to the options that all have in common.
SHARED = {
    "--target", "--prompts", "--num-prompts", "--max-new-tokens", "--repeats", "--gamma",
    "--max-gamma", "--temperature", "--seed", "-o", "--steps", "--batch", "--held-out",
}  # fmt: skip


def overridden(arguments: Sequence[str]) -> list[str]:
    """Returns arguments of which the last takes the place of those that a program would refuse."""
    last = {text: place for place, text in enumerate(arguments) if text in SHARED}
    earlier = [p for p, text in enumerate(arguments) if text in SHARED and p != last[text]]
    return [text for p, text in enumerate(arguments) if not {p, p - 1} & set(earlier)]


def bpe_tokenizer(*, tokens: int) -> PreTrainedTokenizerFast:
    """Returns a byte-level tokenizer trained on the tests' own corpus."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=tokens,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([TEXT], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|endoftext|>", pad_token="<|endoftext|>"
    )
