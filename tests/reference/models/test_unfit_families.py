"""Families whose passes over several tokens are not their steps are refused by name."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

from reference.models.huggingface import load_model, unapplied_settings

CPU = torch.device("cpu")
T5 = {"vocab_size": 40, "d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2,
      "decoder_start_token_id": 0}  # fmt: skip
BART = {"vocab_size": 40, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2,
        "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 24,
        "decoder_ffn_dim": 24, "max_position_embeddings": 64}  # fmt: skip
UNFIT: dict[str, tuple[str, dict[str, Any], str]] = {
    "CpmAnt": ("cpmant", {"vocab_size": 40, "hidden_size": 16, "num_attention_heads": 2,
               "dim_head": 8, "dim_ff": 24, "num_hidden_layers": 2}, "in addition to the cache"),
    "FSMT": ("fsmt", BART | {"langs": ["a", "b"], "src_vocab_size": 40, "tgt_vocab_size": 40},
             "only the last token of a pass"),
    "Moshi": ("moshi", {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2,
              "num_attention_heads": 2, "ffn_dim": 24}, "only its own cache"),
    "ProphetNet": ("prophetnet", {"vocab_size": 40, "hidden_size": 16, "num_encoder_layers": 2,
                   "num_decoder_layers": 2, "num_encoder_attention_heads": 2,
                   "num_decoder_attention_heads": 2, "encoder_ffn_dim": 24,
                   "decoder_ffn_dim": 24}, "one token a pass"),
    "SwitchTransformers": ("switch_transformers", T5 | {"num_experts": 2, "expert_capacity": 4},
                           "drops tokens that steps keep"),
    "NllbMoe": ("nllb-moe", BART | {"num_experts": 2, "encoder_sparse_step": 1,
                "decoder_sparse_step": 1, "moe_eval_capacity_token_fraction": 0.5},
                "drops tokens that steps keep"),
}  # fmt: skip


def saved(family: str, settings: dict[str, Any], folder: Path) -> None:
    config = getattr(transformers, f"{family}Config")(**settings)
    automatic = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    automatic.from_config(config).save_pretrained(folder)


@pytest.mark.parametrize("family", UNFIT)
def test_an_unfit_family_is_refused_with_its_reason(family: str, tmp_path: Path) -> None:
    model_type, settings, reason = UNFIT[family]
    saved(family, settings, tmp_path)
    message = rf"{tmp_path} \({model_type}\) cannot be decoded speculatively: .*{reason}"
    with pytest.raises(ValueError, match=message):
        load_model(str(tmp_path), device=CPU)


def test_experts_that_have_room_for_all_are_taken(tmp_path: Path) -> None:
    _, settings, _ = UNFIT["NllbMoe"]
    saved("NllbMoe", settings | {"moe_eval_capacity_token_fraction": 1.0}, tmp_path)
    assert load_model(str(tmp_path), device=CPU).vocabulary == 40


@pytest.mark.parametrize(
    ("family", "settings", "prompt", "text"),
    [
        ("Mpt", {"vocab_size": 40, "d_model": 16, "n_layers": 1, "n_heads": 2, "max_seq_len": 32},
         32, 32),
        ("LED", BART | {"max_encoder_position_embeddings": 48, "attention_window": 4,
                        "max_decoder_position_embeddings": 24}, 48, 24),
    ],
)  # fmt: skip
def test_positions_are_limited_where_families_call_them_otherwise(
    family: str, settings: dict[str, Any], prompt: int, text: int, tmp_path: Path
) -> None:
    saved(family, settings, tmp_path)
    model = load_model(str(tmp_path), device=CPU)
    assert (model.max_prompt, model.max_length) == (prompt, text)
    model.start([5] * prompt)
    message = f"must fit the {prompt} positions of .*, got {prompt + 1}"
    with pytest.raises(ValueError, match=message):
        model.start([5] * (prompt + 1))


def test_own_settings_that_change_a_models_texts_are_named() -> None:
    settings = transformers.GenerationConfig(
        temperature=0.6, top_p=0.95, top_k=0, repetition_penalty=1.0, no_repeat_ngram_size=3,
        eos_token_id=2, max_new_tokens=20, do_sample=True,
    )  # fmt: skip
    assert unapplied_settings(settings) == {
        "temperature": 0.6, "top_p": 0.95, "no_repeat_ngram_size": 3
    }  # fmt: skip
    assert unapplied_settings(transformers.GenerationConfig()) == {}
