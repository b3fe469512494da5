"""The target's own first layers as its draft."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers

from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling
from reference.models.architectures import EncoderDecoderModel, early_exit
from reference.models.cached_model import CachedModel
from reference.models.huggingface import adapter_of
from reference.policies import Fixed
from reference.records import Stopping
from tests.reference.decoding import speculate
from tests.reference.tiny_models import drawn

LAYERS = 3
PROMPT = [7, 3, 11, 2, 19]
LLAMA = {
    "vocab_size": 40, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": LAYERS,
    "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 128,
    "eos_token_id": None, "pad_token_id": 0,
}  # fmt: skip
SEQ2SEQ = {"vocab_size": 40, "d_model": 16, "decoder_start_token_id": 0}
T5 = {"d_kv": 8, "d_ff": 32, "num_layers": 1, "num_decoder_layers": LAYERS, "num_heads": 2}
BART = {
    "encoder_layers": 1, "decoder_layers": LAYERS, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
    "max_position_embeddings": 64,
}  # fmt: skip

Head = Callable[[Any, torch.Tensor], torch.Tensor]


def llama_head(module: Any, hidden: torch.Tensor) -> torch.Tensor:
    return module.lm_head(module.model.norm(hidden))


def gemma_head(module: Any, hidden: torch.Tensor) -> torch.Tensor:
    cap = module.config.final_logit_softcapping
    return cap * torch.tanh(llama_head(module, hidden) / cap)


# How each architecture makes logits of the hidden states after a layer: its final norm and head.
ARCHITECTURES: dict[str, tuple[str, dict[str, Any], Head]] = {
    "Llama": ("ForCausalLM", LLAMA, llama_head),
    "Qwen2": ("ForCausalLM", LLAMA, llama_head),
    "Gemma2": ("ForCausalLM", LLAMA | {"head_dim": 8, "sliding_window": 6}, gemma_head),
    "GPT2": (
        "LMHeadModel",
        {"vocab_size": 40, "n_embd": 16, "n_layer": LAYERS, "n_head": 2, "eos_token_id": None},
        lambda module, hidden: module.lm_head(module.transformer.ln_f(hidden)),
    ),
    "OPT": (
        "ForCausalLM",
        LLAMA | {"ffn_dim": 32, "word_embed_proj_dim": 16},
        lambda module, hidden: module.lm_head(module.model.decoder.final_layer_norm(hidden)),
    ),
    "GPTNeoX": (
        "ForCausalLM",
        LLAMA,
        lambda module, hidden: module.get_output_embeddings()(
            module.gpt_neox.final_layer_norm(hidden)
        ),
    ),
    "T5": (
        "ForConditionalGeneration",
        SEQ2SEQ | T5,
        lambda module, hidden: module.lm_head(module.decoder.final_layer_norm(hidden) / 4),
    ),
    "Bart": (
        "ForConditionalGeneration",
        SEQ2SEQ | BART,
        lambda module, hidden: module.lm_head(hidden),
    ),
}


def tiny(architecture: str) -> CachedModel:
    """Returns a random model whose layers do something."""
    suffix, sizes, _ = ARCHITECTURES[architecture]
    config = getattr(transformers, f"{architecture}Config")(**sizes)
    torch.manual_seed(1)
    module = drawn(getattr(transformers, architecture + suffix)(config), 0.3)
    return adapter_of(module)(module, architecture.lower())


def hidden_states(target: CachedModel, tokens: torch.Tensor, text: list[int]) -> Any:
    """Returns what enters the first layer and leaves each layer but the last, without a cache."""
    ids, both = torch.tensor([[*text[:-1], *tokens.tolist()]]), torch.tensor([PROMPT])
    of_decoder = isinstance(target, EncoderDecoderModel)
    given = {"input_ids": both, "decoder_input_ids": ids} if of_decoder else {"input_ids": ids}
    output = target.module(**given, output_hidden_states=True, use_cache=False)
    return output.decoder_hidden_states if of_decoder else output.hidden_states


@torch.inference_mode()
@pytest.mark.parametrize("layers", range(1, LAYERS))
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_logits_are_those_of_norm_and_head_after_the_layer(architecture: str, layers: int) -> None:
    target = tiny(architecture)
    draft = early_exit(target, layers)
    text = draft.start(PROMPT)
    tokens = torch.tensor([text[-1], 5, 6, 7, 8])
    head = ARCHITECTURES[architecture][2]
    expected = head(target.module, hidden_states(target, tokens, text)[layers])[0, -len(tokens) :]
    torch.testing.assert_close(draft.extend(tokens), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_weights_are_the_targets_own(architecture: str) -> None:
    target = tiny(architecture)
    before = [name for name, _ in target.module.named_parameters()]
    draft = early_exit(target, 1)
    shared = {id(parameter) for parameter in target.module.parameters()}
    own = [id(parameter) for parameter in draft.module.parameters()]
    assert shared.issuperset(own)
    assert len(own) < len(before)
    assert [name for name, _ in target.module.named_parameters()] == before


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_greedy_text_is_the_targets_own(architecture: str) -> None:
    target = tiny(architecture)
    ids = torch.tensor([PROMPT])
    output = target.module.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, num_beams=1, max_new_tokens=12,
        eos_token_id=None, forced_eos_token_id=None, pad_token_id=0, use_cache=False,
    )  # fmt: skip
    sampling = Sampling(0.0)
    draft = early_exit(target, 2)
    drafter = ModelDrafter(draft, sampling, target.vocabulary)
    for gamma in (1, 7):
        generation = speculate(target, drafter, PROMPT, sampling, Fixed(gamma), Stopping(12))
        assert list(generation.tokens) == output[0, len(generation.text) :].tolist()


def test_the_draft_has_a_name_and_a_cache_of_its_own() -> None:
    target = tiny("Llama")
    draft = early_exit(target, 2)
    assert draft.name == "exit:2"
    target.start(PROMPT)
    draft.start(PROMPT[:2])
    assert (target.length, draft.length) == (4, 1)
    draft.extend(torch.tensor([1, 2]))
    draft.rollback(0)
    assert target.length == 4


@pytest.mark.parametrize("layers", [-1, 0, LAYERS, LAYERS + 3])
def test_layers_that_the_target_cannot_leave_after_are_refused(layers: int) -> None:
    message = f"before the last of the {LAYERS} layers of llama, got {layers}"
    with pytest.raises(ValueError, match=message):
        early_exit(tiny("Llama"), layers)


def test_a_target_of_two_stacks_is_refused() -> None:
    target = tiny("Llama")
    target.module.model.more = torch.nn.ModuleList([torch.nn.Identity()])
    with pytest.raises(ValueError, match=r"a single stack of layers, got 2 in llama \(llama\)"):
        early_exit(target, 1)
