"""Heads written and read again are the same, and another model's are refused by name."""

import json
import re
from pathlib import Path

import pytest
import torch
from tiny_models import llama
from transformers import LlamaForCausalLM

from studies.blockwise.heads import Heads, load_heads, model_fingerprint, save_heads


def tiny(seed: int, width: int = 16) -> LlamaForCausalLM:
    return llama(seed, hidden_size=width, num_hidden_layers=1, eos_token_id=0)


def saved(folder: Path, module: LlamaForCausalLM) -> Heads:
    heads = Heads(heads=4, width=16, hidden=8)
    with torch.no_grad():
        heads.down.normal_()
    save_heads(folder, heads, module, {"model": "tiny"})
    return heads


def test_heads_are_read_as_they_were_written(tmp_path: Path) -> None:
    module = tiny(0)
    heads = saved(tmp_path / "heads", module)
    read = load_heads(tmp_path / "heads", module, name="tiny")
    for name, value in heads.state_dict().items():
        assert torch.equal(read.state_dict()[name], value.half().float())
    assert (tmp_path / "heads" / "heads.safetensors").stat().st_size < 3 * 2 * 16 * 8 * 2 + 1000


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_heads_fit_their_model_in_another_precision(dtype: torch.dtype, tmp_path: Path) -> None:
    saved(tmp_path, tiny(0))
    heads = load_heads(tmp_path, tiny(0).to(dtype), name="tiny")
    assert heads.up.dtype == dtype


def test_a_model_trained_further_has_another_fingerprint() -> None:
    module = tiny(0)
    before = model_fingerprint(module)
    with torch.no_grad():
        module.lm_head.weight.add_(1e-3 * torch.randn_like(module.lm_head.weight))
    assert model_fingerprint(module) != before


@pytest.mark.parametrize(
    ("seed", "width", "message"),
    [
        (1, 16, "trained on the states of big, got heads of a model with other weights (tiny)"),
        (0, 32, "must be as wide as the states of big, 32, got 16"),
    ],
)
def test_heads_of_another_model_are_refused(
    seed: int, width: int, message: str, tmp_path: Path
) -> None:
    saved(tmp_path, tiny(0))
    with pytest.raises(ValueError, match=re.escape(message)):
        load_heads(tmp_path, tiny(seed, width), name="big")


def test_a_folder_without_heads_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be a folder that specplan heads train wrote"):
        load_heads(tmp_path, tiny(0), name="tiny")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "must be JSON"),
        ("[]", "must describe blockwise heads"),
        ('{"format": "specplan blockwise heads 1"}', "must describe blockwise heads"),
    ],
)
def test_a_damaged_description_is_refused(text: str, message: str, tmp_path: Path) -> None:
    saved(tmp_path, tiny(0))
    (tmp_path / "heads.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        load_heads(tmp_path, tiny(0), name="tiny")


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    saved(tmp_path, tiny(0))
    (tmp_path / "heads.safetensors").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="must hold the weights of heads"):
        load_heads(tmp_path, tiny(0), name="tiny")
    description = json.loads((tmp_path / "heads.json").read_text())
    saved(tmp_path, tiny(0))
    (tmp_path / "heads.json").write_text(json.dumps(description | {"heads": 7}))
    with pytest.raises(ValueError, match="must hold the weights of heads"):
        load_heads(tmp_path, tiny(0), name="tiny")
