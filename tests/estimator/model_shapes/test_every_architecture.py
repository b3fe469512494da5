"""Every causal language model of transformers is priced as it is, or refused by name.

Tiny configurations, and of some types the first layers of transformers' default ones, which are
counted only on the meta device. Counts without numbers are compared with the module
itself: its weights, the cache that a pass of it fills, and the operations that torch counts
during that pass.
"""

from contextlib import nullcontext
from dataclasses import fields
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from estimator.model_shapes.counting import decoder_config
from estimator.model_shapes.shape import shape_of
from simulator.cost.roofline.forward import forward_flops
from simulator.cost.roofline.shapes import ModelShape
from tests.estimator.tiny_families import DEPTHS, KINDS_OF_LAYERS, VOCABULARY, sizes_of
from tests.simulator.known_shapes import cache_bytes_of

# transformers makes no default configuration of Gemma 4's drafter.
NAMES = sorted(set(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES) - {"gemma4_assistant"})
ENCODER_DECODERS = """
    bart bigbird_pegasus blenderbot blenderbot-small marian mbart musicgen musicgen_melody mvp
    pegasus plbart prophetnet whisper
"""
# Until is_decoder is set.
ENCODERS = """
    bert bert-generation big_bird camembert data2vec-text electra ernie megatron-bert rembert
    roberta roberta-prelayernorm roc_bert roformer xlm xlm-roberta xlm-roberta-xl xlnet xmod
"""
# No cache, or one of their own.
OTHER_CACHES = "deepseek_v4 minimax openai-gpt recurrent_gemma rwkv xlstm"
# Passes that look at numbers, which the meta device has not.
NUMBERS = "biogpt jetmoe longcat_flash moshi"
# Default configurations that cannot be built, or do not state their layers.
DEFAULTS = """
    blt cohere_compass_text dbrx gemma4_unified_assistant qwen4_exp qwen4_exp_text reformer
"""
REFUSED = set((ENCODER_DECODERS + ENCODERS + OTHER_CACHES + " " + NUMBERS + DEFAULTS).split())
# Sizes that hang together, or differ by layer, so that none are tiny: the default configurations,
# of so many layers that there is one of each kind, and one that shares what another has.
WHOLE = """
    dots3_note dots3_note_text falcon_h1 gemma3n gemma3n_text gemma4 gemma4_text gemma4_unified
    gemma4_unified_assistant gemma4_unified_text kimi_linear mamba2 mimo_v2_flash nemotron_h zamba
    zamba2
"""
# Its prompt of its own precedes the text in the cache.
PROMPTED = {"cpmant"}
# torch counts more or less: prompts, all experts at once, cross attentions without a source.
UNCOUNTED = {"cpmant", "llama4", "llama4_text", "mllama", "trocr"}
LAYERS = 12
DEEPER = {"gemma4_unified_assistant": 99, "zamba2": 20}
TOKENS = 4
LARGEST = 3 * 10**7
# Longer than the texts; layers of which hybrids have one of each kind; whole states.
SIZES = {
    "num_hidden_layers": 4, "n_layer": 4, "n_layers": 4, "num_layers": 4,
    "sliding_window": 64, "attention_chunk_size": 64,
    "mamba_n_heads": 2, "mamba_d_state": 4, "mamba_d_head": 16, "mamba_num_heads": 2,
    "mamba_head_dim": 16, "ssm_state_size": 4, "state_size": 4, "d_inner": 32, "lru_width": 16,
    "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 8,
    "linear_value_head_dim": 8, "qk_head_dim": 8, "index_head_dim": 8, "index_n_heads": 2,
    "index_topk": 4, "expert_ffn_hidden_size": 8, "ffn_hidden_size": 24,
    "hidden_size_per_layer_input": 4, "vocab_size_per_layer_input": VOCABULARY, "laurel_rank": 4,
}  # fmt: skip
# Further settings of each family: consistent widths, and layers of each kind that it has.
ROTARY = {"head_dim": 4}
BOTH_KINDS = ["linear_attention", "full_attention", "linear_attention", "full_attention"]
SETTINGS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(["axk1", "deepseek_v3", "longcat_flash", "youtu"], ROTARY),
    "bailing_hybrid": {"layer_group_size": 2},
    "bamba": {"attn_layer_indices": [1]},
    "codegen": {"n_head": 4, "n_embd": 32, "num_attention_heads": 4, "hidden_size": 32},
    "dbrx": {
        "attn_config": {"kv_n_heads": 2, "rope_theta": 1e4, "clip_qkv": 8},
        "ffn_config": {"ffn_hidden_size": 24, "moe_num_experts": 4, "moe_top_k": 2},
    },
    "deepseek_v2": {"num_experts_per_tok": 2, "topk_group": 1, "n_group": 1},
    "dots1": {"n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2},
    "gpt_neo": {"attention_types": [[["global", "local"], 2]]},
    "granitemoehybrid": {"layer_types": BOTH_KINDS},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "lfm2_moe": {"layer_types": ["conv", "full_attention", "conv", "full_attention"]},
    "zaya": {"num_experts_per_tok": 1},
}


def counted(kind: str) -> tuple[dict[str, Any], ModelShape]:
    """Returns a tiny configuration of that type, or the default one of WHOLE, and its shape."""
    default = AutoConfig.for_model(kind)
    if kind in WHOLE.split():
        sizes = _shortened(default.to_dict(), DEEPER.get(kind, LAYERS))
    else:
        sizes = _shrunk(default, SETTINGS.get(kind, {}))
    config = sizes | {"dtype": "bfloat16"}
    return config, shape_of(config)


def _shortened(config: dict[str, Any], layers: int) -> dict[str, Any]:
    """Returns a configuration, and those within it, of at most so many layers."""
    depth = config.get("num_hidden_layers")
    short: dict[str, Any] = {}
    for name, value in config.items():
        if name == "per_layer_config":
            short[name] = {at: own for at, own in value.items() if int(at) < layers}
        elif isinstance(value, dict):
            short[name] = _shortened(value, layers)
        else:
            of_layers = isinstance(value, list) and len(value) == depth
            short[name] = value[:layers] if of_layers else value
    limits = {"num_hidden_layers": layers, "num_kv_shared_layers": layers // 2}
    return short | {
        name: min(short[name], limit) for name, limit in limits.items() if short.get(name)
    }


def _shrunk(default: Any, settings: dict[str, Any]) -> dict[str, Any]:
    sizes: dict[str, Any] = sizes_of(default)
    sizes |= {name: size for name, size in SIZES.items() if _is_set(default, name)}
    if not any(word in name for name in default.to_dict() for word in KINDS_OF_LAYERS):
        sizes |= dict.fromkeys(DEPTHS & sizes.keys(), 2)
    parts = {name: getattr(default, name, None) for name in ("text_config", "decoder")}
    sizes |= {
        n: _shrunk(part, settings) for n, part in parts.items() if hasattr(part, "model_type")
    }
    if "layer_types" in {field.name for field in fields(default)}:
        sizes["layer_types"] = None
    ids = {"vocab_size": VOCABULARY, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    shrunken: dict[str, Any] = type(default)(**sizes | ids | settings).to_dict()
    return shrunken


def _is_set(config: Any, name: str) -> bool:
    computed = isinstance(getattr(type(config), name, None), property)
    return not computed and isinstance(getattr(config, name, None), int)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", NAMES)
def test_an_architecture_is_counted_as_it_is_or_refused_by_name(kind: str) -> None:
    try:
        config, shape = counted(kind)
    except ValueError as error:
        plain = str(error).lower().replace("-", "").replace("_", "")
        assert kind.lower().replace("-", "").replace("_", "").removesuffix("text") in plain
        assert kind in REFUSED
        return
    assert kind not in REFUSED
    decoder = decoder_config(config)
    small = shape.parameters <= LARGEST
    torch.manual_seed(0)
    with nullcontext() if small else torch.device("meta"):
        module = AutoModelForCausalLM.from_config(
            decoder,
            dtype=torch.float32,
            attn_implementation="eager",
            experts_implementation="eager",
        )
    assert shape.parameters == sum(each.numel() for each in module.parameters())
    if small:
        _compare_a_pass(kind, shape, module.eval())


def _compare_a_pass(kind: str, shape: ModelShape, module: PreTrainedModel) -> None:
    """Compares the cache that a pass fills, and its operations where torch counts them all."""
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        output = module(input_ids=torch.ones(1, TOKENS, dtype=torch.long), use_cache=True)
    cache = getattr(output, "past_key_values", None)
    cache = output.cache_params if cache is None else cache
    held = sum(
        2 * tensor.numel()
        for layer in cache.layers
        for name in ("keys", "values", "indexer_keys")
        if isinstance(tensor := getattr(layer, name, None), torch.Tensor)
    )
    if kind not in PROMPTED:
        assert cache_bytes_of(shape) * TOKENS == held
    if kind not in UNCOUNTED and all(each.kind != "linear" for each in shape.caches):
        counted = float(forward_flops(shape, new_tokens=TOKENS, context=0, batch=1))
        # Small models: biases, norms and the masked half of the scores are a part of the whole.
        assert counted == pytest.approx(counter.get_total_flops(), rel=0.12)
