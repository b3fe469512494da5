"""Published configurations of targets and heads, and the weights that the heads' tensors hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Config = dict[str, Any]


def llama(hidden: int, inner: int, heads: int, cached: int, vocabulary: int) -> Config:
    """Returns the sizes of a Llama as its config.json has them, of 8 layers."""
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "num_hidden_layers": 8,
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_attention_heads": heads,
        "num_key_value_heads": cached,
        "vocab_size": vocabulary,
        "tie_word_embeddings": False,
        "torch_dtype": "float16",
    }


LLAMA_8B = llama(4096, 14336, 32, 8, 128256)
VICUNA_7B, VICUNA_13B = llama(4096, 11008, 32, 32, 32000), llama(5120, 13824, 40, 40, 32000)
VICUNA_33B, LLAMA2_70B = llama(6656, 17920, 52, 13, 32000), llama(8192, 28672, 64, 8, 32000)
QWEN3_8B = llama(4096, 12288, 32, 8, 151936) | {"model_type": "qwen3", "head_dim": 128}
QWEN35_4B = llama(2560, 9216, 32, 8, 248320) | {"model_type": "qwen3", "head_dim": 128}
GPT_OSS = llama(2880, 2880, 64, 8, 201088) | {"head_dim": 64}
GEMMA_E2B: Config = {
    "model_type": "gemma4_text",
    "num_hidden_layers": 5,
    "num_kv_shared_layers": 0,
    "hidden_size": 1536,
    "intermediate_size": 6144,
    "num_attention_heads": 8,
    "num_key_value_heads": 1,
    "head_dim": 256,
    "global_head_dim": 512,
    "vocab_size": 262144,
    "sliding_window": 512,
    "hidden_size_per_layer_input": 0,
    "vocab_size_per_layer_input": 0,
    "layer_types": ["sliding_attention"] * 4 + ["full_attention"],
    "dtype": "bfloat16",
}
ONE = {"num_hidden_layers": 1}


def matrices(config: Config, *, reads: int = 1) -> int:
    """Returns the matrices of a configuration's decoder layers.

    reads: by how much the first one's attention is wider at its input.
    """
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    size = config.get("head_dim", hidden // heads)
    queries, cached = heads * size, config["num_key_value_heads"] * size
    output, inputs = queries * hidden, hidden * (queries + 2 * cached)
    layer = output + inputs + 3 * hidden * config["intermediate_size"]
    return (reads - 1) * inputs + config["num_hidden_layers"] * layer


def eagle(config: Config, *, biased: bool = True) -> int:
    """Returns all weights of an EAGLE head: fc with its bias, one layer, the norm inside it."""
    hidden = config["hidden_size"]
    return 2 * hidden * hidden + biased * hidden + matrices(config) + hidden


def eagle3(config: Config, drafted: int) -> int:
    """Returns all weights of an EAGLE-3 head: fc, layers that read twice, four norms, its words."""
    hidden = config["hidden_size"]
    norms = (2 * config["num_hidden_layers"] + 2) * hidden
    return matrices(config, reads=2) + 3 * hidden * hidden + norms + drafted * hidden


def dflash(config: Config) -> int:
    """Returns all weights of a DFlash head of 5 layers: fc, layers, norms of two kinds."""
    hidden = config["hidden_size"]
    return matrices(config) + 5 * hidden * hidden + 5 * (2 * hidden + 2 * 128) + 2 * hidden


def speculators(kind: str, tokens: int, **given: Any) -> Config:
    """Returns a configuration of the speculators format, of one layer of a Llama of 8 billion."""
    method = {"proposal_type": "greedy", "speculative_tokens": tokens, "verifier_accept_k": 1}
    layer = {name: value for name, value in LLAMA_8B.items() if name != "architectures"} | ONE
    return {
        "speculators_model_type": kind,
        "speculators_version": "0.5.0",
        "torch_dtype": "bfloat16",
        "transformer_layer_config": layer,
        "speculators_config": {
            "algorithm": kind,
            "default_proposal_method": "greedy",
            "proposal_methods": [method],
            "verifier": {"name_or_path": "meta-llama/Llama-3.1-8B-Instruct"},
        },
        **given,
    }


@dataclass(frozen=True)
class Published:
    """A configuration, the target that it is for, and what it is.

    weights: all that its tensors hold but a copy of the target's embedding or output matrix.
    card: weights in billions as its publisher says, to so many digits; None: not said.
    """

    name: str
    config: Config
    target: Config
    kind: str
    weights: int
    card: float | None = None
    parallel: bool = False
    longest: int | None = None
    gamma: int | None = None


def block(name: str, config: Config, kind: str, further: int = 0, **stated: int) -> Published:
    """Returns a head that drafts a block, with further weights than DFlash has."""
    layers = config.get("transformer_layer_config", config)
    target = QWEN35_4B if layers["hidden_size"] == 2560 else QWEN3_8B
    return Published(name, config, target, kind, dflash(layers) + further, parallel=True, **stated)


_LAYERS = {"num_hidden_layers": 5}
_TAPS = [1, 9, 17, 25, 33]
_SPARK = {
    "confidence_head_alpha": 1.0, "confidence_head_with_markov": True,
    "enable_confidence_head": True, "markov_head_type": "vanilla", "markov_rank": 256,
    "projector_type": "dspark", "target_layer_ids": _TAPS,
}  # fmt: skip
_DOMINO = {
    "projector_type": "domino", "emb_dim": 256, "gru_hidden_dim": 1024, "shift_label": True,
    "pure_draft_prefix_len": 1, "target_layer_ids": [3, 11, 19, 27, 31],
}  # fmt: skip
_WIDE_OSS = GPT_OSS | ONE | {"truncated_vocab_size": 64000, "intermediate_size": 11520}
_DEEP = QWEN3_8B | {"num_hidden_layers": 4, "model_type": "llama", "draft_vocab_size": 32000}
_MLP = {"model_type": "mlp_speculator", "vocab_size": 32000, "emb_dim": 4096}

# Sizes in billions: the table of SafeAILab's README; Google's model cards.
HEADS = (
    *(
        Published(f"EAGLE {name}", target | ONE, target, "EAGLE", eagle(target | ONE), card)
        for name, target, card in (
            ("vicuna-7b", VICUNA_7B, 0.24),
            ("vicuna-13b", VICUNA_13B, 0.37),
            ("vicuna-33b", VICUNA_33B, 0.56),
            ("llama-2-70b", LLAMA2_70B, 0.99),
            ("llama-3-8b", LLAMA_8B, 0.25),
        )
    ),
    Published(
        "EAGLE as vLLM keeps it",
        {"model_type": "eagle", "eagle_fc_bias": True, "model": LLAMA_8B | ONE,
         "torch_dtype": "float16"},
        LLAMA_8B, "EAGLE", eagle(LLAMA_8B | ONE),
    ),
    Published(
        "EAGLE by its class",
        LLAMA_8B | ONE | {"architectures": ["EagleLlamaForCausalLM"], "bias": False},
        LLAMA_8B, "EAGLE", eagle(LLAMA_8B | ONE, biased=False),
    ),
    # SafeAILab's eagle/traineagle3/config.json: the class of a model.
    Published(
        "EAGLE-3 without its class", LLAMA_8B | ONE | {"draft_vocab_size": 32000},
        LLAMA_8B, "EAGLE-3", eagle3(LLAMA_8B | ONE, 32000),
    ),
    # nebius/EAGLE3-gpt-oss-20b
    Published("EAGLE-3 gpt-oss", _WIDE_OSS, GPT_OSS, "EAGLE-3", eagle3(_WIDE_OSS, 64000)),
    # RedHatAI/gpt-oss-20b-speculator.eagle3: one norm over the joined states.
    Published(
        "speculators eagle3",
        speculators(
            "eagle3", 3, draft_vocab_size=64000, norm_before_fc=True, norm_before_residual=True,
            eagle_aux_hidden_state_layer_ids=[2, 12, 21], transformer_layer_config=GPT_OSS | ONE,
        ),
        GPT_OSS, "EAGLE-3", eagle3(GPT_OSS | ONE, 64000) + 3 * 2880, gamma=3,
    ),
    Published(
        "speculators peagle",
        speculators("peagle", 7, draft_vocab_size=32000, mask_token_id=128255,
                    embed_requires_grad=True),
        LLAMA_8B, "P-EAGLE", eagle3(LLAMA_8B | ONE, 32000) + 3 * 4096 + 128256 * 4096,
        parallel=True, gamma=7,
    ),
    # SpecForge's configs, of Qwen3-8B but where they say otherwise
    Published(
        "P-EAGLE by its class", _DEEP | {"architectures": ["PEagleDraftModel"]},
        QWEN3_8B, "P-EAGLE", eagle3(_DEEP, 32000) + 3 * 4096, parallel=True,
    ),
    block(
        "DFlash",
        QWEN3_8B | _LAYERS | {"architectures": ["DFlashDraftModel"], "block_size": 16,
                              "dflash_config": {"mask_token_id": 151669,
                                                "target_layer_ids": _TAPS}},
        "DFlash", longest=15,
    ),
    block(
        "speculators dflash",
        speculators("dflash", 7, block_size=8, draft_vocab_size=32000,
                    aux_hidden_state_layer_ids=[3, 13, 23, 32, 42],
                    transformer_layer_config=QWEN3_8B | _LAYERS),
        "DFlash", 32000 * 4096, longest=7, gamma=7,
    ),
    block(
        "DSpark",
        QWEN3_8B | _LAYERS | {"architectures": ["DSparkDraftModel"], "block_size": 7,
                              "dflash_config": _SPARK},
        "DSpark", 2 * 151936 * 256 + 4096 + 256 + 1, longest=7,
    ),
    block(
        "speculators dspark",
        speculators("dspark", 15, block_size=16, draft_vocab_size=151936, markov_rank=256,
                    markov_head_type="rnn", enable_confidence_head=False,
                    aux_hidden_state_layer_ids=[8, 23, 39, 55, 70],
                    transformer_layer_config=QWEN3_8B | _LAYERS),
        "DSpark", 2 * 151936 * 256 + (2 * 256 + 4096) * 3 * 256 + 3 * 256, longest=16, gamma=15,
    ),
    block(
        "Domino",
        QWEN35_4B | _LAYERS | {"architectures": ["DominoDraftModel"], "block_size": 16,
                               "dflash_config": _DOMINO},
        "Domino", 3 * 1024 * (2560 + 1024) + (2560 + 1024) * 256 + 256 * 248320, longest=16,
    ),
    # Llama-3.2-1B at masks, as amd/PARD-Llama-3.2-1B: all of its weights, embedding tied.
    Published(
        "PARD",
        LLAMA_8B | {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
                    "head_dim": 64, "tie_word_embeddings": True, "pard_token": 128256},
        LLAMA_8B, "PARD", 1_235_814_400, parallel=True,
    ),
    # The defaults of vLLM's MLPSpeculatorConfig.
    Published(
        "MLP speculator",
        _MLP | {"architectures": ["MLPSpeculatorPreTrainedModel"], "inner_dim": 0, "n_predict": 3,
                "tie_weights": False, "top_k_tokens_per_head": [5, 4, 3]},
        VICUNA_7B, "MLP speculator", 3 * (2 * 32000 * 4096 + 4096**2 + 2 * 4096), longest=3,
    ),
    Published(
        "MLP speculator, tied",
        _MLP | {"inner_dim": 3072, "n_predict": 4, "tie_weights": True},
        VICUNA_7B, "MLP speculator",
        2 * 32000 * 3072 + 4096 * 3072 + 3072**2 + 2 * 3072, longest=4,
    ),
    # google/gemma-4-E2B-it-assistant
    Published(
        "Gemma assistant",
        {
            "architectures": ["Gemma4AssistantForCausalLM"], "model_type": "gemma4_assistant",
            "backbone_hidden_size": 1536, "num_centroids": 2048,
            "centroid_intermediate_top_k": 32, "use_ordered_embeddings": True,
            "tie_word_embeddings": True, "dtype": "bfloat16",
            "text_config": GEMMA_E2B | {
                "num_hidden_layers": 4, "hidden_size": 256, "intermediate_size": 2048,
                "num_attention_heads": 4, "attention_k_eq_v": False, "num_kv_shared_layers": 4,
                "enable_moe_block": False, "use_double_wide_mlp": False,
                "tie_word_embeddings": True,
                "layer_types": ["sliding_attention"] * 3 + ["full_attention"],
            },
        },
        GEMMA_E2B, "Gemma assistant",
        # Queries and their norms, 4 heads of 256 (thrice) and of 512; four norms a layer, one
        # behind all; projections; centroids; the tied matrix.
        2 * 256 * (3 * 1024 + 2048) + 3 * 256 + 512 + 4 * (3 * 256 * 2048 + 4 * 256) + 256
        + 3 * 256 * 1536 + 2048 * 256 + 262144 * 256,
        card=0.078,
    ),
)  # fmt: skip
