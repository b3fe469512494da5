"""Encoder families: decoders where their configuration says so, else refused by name."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from decoding import alone, speculate
from transformers import AutoModelForCausalLM, XGLMConfig, XGLMForCausalLM

from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling
from reference.models.architectures import CausalModel
from reference.models.cached_model import CachedModel
from reference.models.huggingface import load_model
from reference.policies import Fixed
from reference.records import Stopping

GREEDY = Sampling(0.0)
PADDING = 1
# A padding id in the prompt is text: RoBERTa's own count of positions leaves it out.
PROMPT = [3, 9, 14, PADDING, 22, 5]
NEW_TOKENS = 20
FAMILIES = ["Bert", "Roberta", "Electra", "XLMRobertaXL"]


def random_module(family: str, *, is_decoder: bool) -> Any:
    """Returns a random model whose layers do something."""
    sizes = {"vocab_size": 50, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2}
    ids = {"pad_token_id": PADDING, "bos_token_id": None, "eos_token_id": None}
    others = {"num_attention_heads": 2, "max_position_embeddings": 64, "tie_word_embeddings": False}
    config_class = getattr(transformers, f"{family}Config")
    config = config_class(**sizes | ids | others, is_decoder=is_decoder)
    torch.manual_seed(2)
    module = AutoModelForCausalLM.from_config(config)
    return with_noise(module, 1.0)


def with_noise(module: Any, noise: float) -> Any:
    """Returns the module with normal noise on its matrices."""
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() > 1:
                parameter += noise * torch.randn_like(parameter)
    return module


def loaded(module: Any, folder: Path) -> CachedModel:
    module.save_pretrained(folder)
    return load_model(str(folder), device=torch.device("cpu"))


@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_text_of_an_encoder_made_a_decoder_is_that_of_generate(
    family: str, tmp_path: Path
) -> None:
    module = random_module(family, is_decoder=True)
    target = loaded(module, tmp_path / "target")
    draft = loaded(with_noise(module, 0.02), tmp_path / "draft")
    ids = torch.tensor([PROMPT])
    output = target.module.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=NEW_TOKENS
    )
    expected = tuple(output[0, len(PROMPT) :].tolist())
    assert len(set(expected)) > 2
    stopping = Stopping(NEW_TOKENS)
    assert alone(target, PROMPT, GREEDY, stopping).tokens == expected
    drafter = ModelDrafter(draft, GREEDY, target.vocabulary)
    for gamma in (1, 3, 7):
        found = speculate(target, drafter, PROMPT, GREEDY, Fixed(gamma), stopping)
        assert found.tokens == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_an_encoder_is_refused_by_name(family: str, tmp_path: Path) -> None:
    """Its earlier tokens see later ones, which none of its cached rows did."""
    module = random_module(family, is_decoder=False)
    message = (
        rf"{tmp_path} \({module.config.model_type}\) is an encoder, whose tokens see later ones, "
        "and cannot decode; its configuration must have is_decoder true, got false"
    )
    with pytest.raises(ValueError, match=message):
        loaded(module, tmp_path)


def test_a_decoder_that_could_attend_across_is_no_encoder() -> None:
    config = XGLMConfig(vocab_size=50, d_model=16, num_layers=1, attention_heads=2, ffn_dim=16)
    CausalModel(XGLMForCausalLM(config), "xglm")
