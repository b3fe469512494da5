"""Tiny models in folders, made on the spot."""

from pathlib import Path

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, T5Config, T5ForConditionalGeneration

from tests.reference.tiny_models import with_noise
from tests.specplan.programs import bpe_tokenizer

POSITIONS = 96
# Shorter than the target's 96 and longer than its 40.
FEW_POSITIONS = 40
CHAT_TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<answer>"
PROMPTS = ["def fib(n):", "class Tiny:\n    pass", "import sys, os", "for x in range(10):"]


def llama(
    *,
    seed: int,
    vocabulary: int,
    noise: float = 0.0,
    positions: int = POSITIONS,
    layers: int = 2,
    width: int = 32,
) -> LlamaForCausalLM:
    """Returns a random model; the same seed with noise gives one that is close to it."""
    torch.manual_seed(seed)
    module = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            intermediate_size=48,
            num_hidden_layers=layers,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=positions,
            initializer_range=0.3,
            bos_token_id=None,
            eos_token_id=0,
            pad_token_id=0,
        )
    )
    return with_noise(module, noise)


def t5(*, vocabulary: int, noise: float = 0.0) -> T5ForConditionalGeneration:
    """Returns a random encoder-decoder."""
    torch.manual_seed(1)
    module = T5ForConditionalGeneration(
        T5Config(
            vocab_size=vocabulary,
            d_model=32,
            d_kv=16,
            d_ff=48,
            num_layers=2,
            num_heads=2,
            initializer_factor=3.0,
            decoder_start_token_id=0,
            pad_token_id=0,
            eos_token_id=0,
        )
    )
    return with_noise(module, noise)


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder of model folders.

    `target` and `draft` are a pair, `encdec` and `encdec-draft` a pair of T5s. `other` has another
    tokenizer, `few` is a draft with fewer positions, `nan` has weights that are NaN, and `chat` is
    the target with a chat template. `prompts.txt` has prompts.
    """
    root = tmp_path_factory.mktemp("models")
    tokenizer = bpe_tokenizer(tokens=300)
    size = len(tokenizer)
    chat = bpe_tokenizer(tokens=300)
    chat.chat_template = CHAT_TEMPLATE
    broken = llama(seed=0, vocabulary=size)
    with torch.no_grad():
        broken.lm_head.weight.fill_(float("nan"))
    for name, module, its_tokenizer in [
        ("target", llama(seed=0, vocabulary=size), tokenizer),
        ("draft", llama(seed=0, vocabulary=size, noise=0.04), tokenizer),
        ("other", llama(seed=0, vocabulary=290), bpe_tokenizer(tokens=290)),
        ("few", llama(seed=0, vocabulary=size, noise=0.04, positions=FEW_POSITIONS), tokenizer),
        ("nan", broken, tokenizer),
        ("encdec", t5(vocabulary=size), tokenizer),
        ("encdec-draft", t5(vocabulary=size, noise=0.02), tokenizer),
        ("chat", llama(seed=0, vocabulary=size), chat),
    ]:
        module.save_pretrained(root / name)
        its_tokenizer.save_pretrained(root / name)
    (root / "prompts.txt").write_text("\n".join(p.replace("\n", " ") for p in PROMPTS) + "\n")
    return root
