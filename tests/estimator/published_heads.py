"""Published configurations of heads: keys and numbers, and the weights that their tensors hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from published_targets import (
    GEMMA_E2B,
    GPT_OSS,
    LLAMA2_70B,
    LLAMA_8B,
    ONE,
    QWEN3_8B,
    QWEN35_4B,
    VICUNA_7B,
    VICUNA_13B,
    VICUNA_33B,
)


def layers(count: int, hidden: int, inner: int, cached: int, *, reads: int = 1) -> int:
    """Returns the matrices of decoder layers with queries as wide as `hidden`, heads of 128.

    reads: by how much the first one's attention is wider at its input.
    """
    attention = hidden * hidden + (reads * hidden) * (hidden + 2 * cached * 128)
    later = 2 * hidden * hidden + 2 * hidden * cached * 128
    return attention + (count - 1) * later + count * 3 * hidden * inner


def eagle(hidden: int, inner: int, cached: int) -> int:
    """Returns all weights of an EAGLE head: fc with its bias, one layer, the norm inside it."""
    return 2 * hidden * hidden + hidden + layers(1, hidden, inner, cached) + hidden


_QWEN_BLOCK = 5 * (2 * 4096 + 2 * 128) + 4096 + 4096  # norms of 5 layers, norm, hidden_norm
_QWEN_DFLASH = layers(5, 4096, 12288, 8) + 5 * 4096 * 4096 + _QWEN_BLOCK
# Queries of 32 heads of 128 on a width of 2560.
_NARROW_DFLASH = (
    5 * (2 * 2560 * 4096 + 2 * 2560 * 1024 + 3 * 2560 * 9216 + 2 * 2560 + 2 * 128)
    + 5 * 2560 * 2560
    + 2 * 2560
)
_DFLASH = {
    "block_size": 16,
    "dflash_config": {"mask_token_id": 151669, "target_layer_ids": [1, 9, 17, 25, 33]},
    "num_hidden_layers": 5,
}
_SPARK = {
    "confidence_head_alpha": 1.0, "confidence_head_with_markov": True,
    "enable_confidence_head": True, "markov_head_type": "vanilla", "markov_rank": 256,
    "projector_type": "dspark", "target_layer_ids": [1, 9, 17, 25, 33],
}  # fmt: skip
_LAYER = {name: value for name, value in LLAMA_8B.items() if name != "architectures"} | ONE
_E3 = layers(1, 4096, 14336, 8, reads=2) + 3 * 4096 * 4096 + 4 * 4096 + 4096 * 32000


def speculators(kind: str, tokens: int, **given: Any) -> dict[str, Any]:
    """Returns a configuration of the speculators format, of one layer of a Llama of 8 billion."""
    return {
        "speculators_model_type": kind,
        "speculators_version": "0.5.0",
        "torch_dtype": "bfloat16",
        "transformer_layer_config": _LAYER,
        "speculators_config": {
            "algorithm": kind,
            "default_proposal_method": "greedy",
            "proposal_methods": [
                {"proposal_type": "greedy", "speculative_tokens": tokens, "verifier_accept_k": 1}
            ],
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
    config: dict[str, Any]
    target: dict[str, Any]
    kind: str
    weights: int
    card: float | None = None
    parallel: bool = False
    longest: int | None = None
    gamma: int | None = None
    more: dict[str, Any] = field(default_factory=dict)


# Sizes in billions: the table of SafeAILab's README; Google's model cards.
HEADS = (
    Published("EAGLE vicuna-7b", VICUNA_7B | ONE, VICUNA_7B, "EAGLE", eagle(4096, 11008, 32), 0.24),
    Published(
        "EAGLE vicuna-13b", VICUNA_13B | ONE, VICUNA_13B, "EAGLE", eagle(5120, 13824, 40), 0.37
    ),
    Published(
        "EAGLE vicuna-33b", VICUNA_33B | ONE, VICUNA_33B, "EAGLE", eagle(6656, 17920, 13), 0.56
    ),
    Published(
        "EAGLE llama-2-70b", LLAMA2_70B | ONE, LLAMA2_70B, "EAGLE", eagle(8192, 28672, 8), 0.99
    ),
    Published("EAGLE llama-3-8b", LLAMA_8B | ONE, LLAMA_8B, "EAGLE", eagle(4096, 14336, 8), 0.25),
    Published(
        "EAGLE as vLLM keeps it",
        {
            "model_type": "eagle",
            "eagle_fc_bias": True,
            "model": LLAMA_8B | ONE,
            "torch_dtype": "float16",
        },
        LLAMA_8B,
        "EAGLE",
        eagle(4096, 14336, 8),
    ),
    Published(
        "EAGLE by its class",
        LLAMA_8B | ONE | {"architectures": ["EagleLlamaForCausalLM"], "bias": False},
        LLAMA_8B,
        "EAGLE",
        eagle(4096, 14336, 8) - 4096,
    ),
    # SafeAILab's eagle/traineagle3/config.json: the class of a model.
    Published(
        "EAGLE-3 without its class",
        LLAMA_8B | ONE | {"draft_vocab_size": 32000},
        LLAMA_8B,
        "EAGLE-3",
        _E3,
    ),
    # nebius/EAGLE3-gpt-oss-20b
    Published(
        "EAGLE-3 gpt-oss",
        GPT_OSS | ONE | {"truncated_vocab_size": 64000, "intermediate_size": 11520},
        GPT_OSS,
        "EAGLE-3",
        2 * 2880 * (4096 + 2 * 512)
        + 4096 * 2880
        + 3 * 2880 * 11520
        + 3 * 2880**2
        + 4 * 2880
        + 64000 * 2880,
    ),
    # RedHatAI/gpt-oss-20b-speculator.eagle3: one norm over the joined states.
    Published(
        "speculators eagle3",
        speculators(
            "eagle3",
            3,
            draft_vocab_size=64000,
            norm_before_fc=True,
            norm_before_residual=True,
            eagle_aux_hidden_state_layer_ids=[2, 12, 21],
            transformer_layer_config=GPT_OSS | ONE,
        ),
        GPT_OSS,
        "EAGLE-3",
        2 * 2880 * (4096 + 2 * 512)
        + 4096 * 2880
        + 3 * 2880 * 2880
        + 3 * 2880**2
        + 4 * 2880
        + 3 * 2880
        + 64000 * 2880,
        gamma=3,
    ),
    Published(
        "speculators peagle",
        speculators(
            "peagle", 7, draft_vocab_size=32000, mask_token_id=128255, embed_requires_grad=True
        ),
        LLAMA_8B,
        "P-EAGLE",
        _E3 + 3 * 4096 + 128256 * 4096,
        parallel=True,
        gamma=7,
    ),
    # SpecForge's configs, of Qwen3-8B but where they say otherwise
    Published(
        "P-EAGLE by its class",
        QWEN3_8B
        | {
            "architectures": ["PEagleDraftModel"],
            "num_hidden_layers": 4,
            "model_type": "llama",
            "draft_vocab_size": 32000,
        },
        QWEN3_8B,
        "P-EAGLE",
        layers(4, 4096, 12288, 8, reads=2)
        + 3 * 4096**2
        + 4096 * 32000
        + 4 * 2 * 4096
        + 2 * 4096
        + 3 * 4096,
        parallel=True,
    ),
    Published(
        "DFlash",
        QWEN3_8B | _DFLASH | {"architectures": ["DFlashDraftModel"]},
        QWEN3_8B,
        "DFlash",
        _QWEN_DFLASH,
        parallel=True,
        longest=15,
    ),
    Published(
        "speculators dflash",
        speculators(
            "dflash",
            7,
            block_size=8,
            draft_vocab_size=32000,
            aux_hidden_state_layer_ids=[3, 13, 23, 32, 42],
            transformer_layer_config=QWEN3_8B | {"num_hidden_layers": 5},
        ),
        QWEN3_8B,
        "DFlash",
        _QWEN_DFLASH + 32000 * 4096,
        parallel=True,
        longest=7,
        gamma=7,
    ),
    Published(
        "DSpark",
        QWEN3_8B
        | {
            "architectures": ["DSparkDraftModel"],
            "block_size": 7,
            "dflash_config": _SPARK,
            "num_hidden_layers": 5,
        },
        QWEN3_8B,
        "DSpark",
        _QWEN_DFLASH + 2 * 151936 * 256 + 4096 + 256 + 1,
        parallel=True,
        longest=7,
    ),
    Published(
        "speculators dspark",
        speculators(
            "dspark",
            15,
            block_size=16,
            draft_vocab_size=151936,
            markov_rank=256,
            markov_head_type="rnn",
            enable_confidence_head=False,
            aux_hidden_state_layer_ids=[8, 23, 39, 55, 70],
            transformer_layer_config=QWEN3_8B | {"num_hidden_layers": 5},
        ),
        QWEN3_8B,
        "DSpark",
        _QWEN_DFLASH + 2 * 151936 * 256 + (2 * 256 + 4096) * 3 * 256 + 3 * 256,
        parallel=True,
        longest=16,
        gamma=15,
    ),
    Published(
        "Domino",
        QWEN35_4B
        | {
            "architectures": ["DominoDraftModel"],
            "block_size": 16,
            "num_hidden_layers": 5,
            "dflash_config": {
                "projector_type": "domino",
                "emb_dim": 256,
                "gru_hidden_dim": 1024,
                "shift_label": True,
                "pure_draft_prefix_len": 1,
                "target_layer_ids": [3, 11, 19, 27, 31],
            },
        },
        QWEN35_4B,
        "Domino",
        _NARROW_DFLASH + 3 * 1024 * (2560 + 1024) + (2560 + 1024) * 256 + 256 * 248320,
        parallel=True,
        longest=16,
    ),
    # Llama-3.2-1B at masks, as amd/PARD-Llama-3.2-1B: all of its weights, embedding tied.
    Published(
        "PARD",
        LLAMA_8B
        | {
            "hidden_size": 2048,
            "intermediate_size": 8192,
            "num_hidden_layers": 16,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "head_dim": 64,
            "tie_word_embeddings": True,
            "pard_token": 128256,
        },
        LLAMA_8B,
        "PARD",
        1_235_814_400,
        parallel=True,
    ),
    # The defaults of vLLM's MLPSpeculatorConfig.
    Published(
        "MLP speculator",
        {
            "model_type": "mlp_speculator",
            "architectures": ["MLPSpeculatorPreTrainedModel"],
            "vocab_size": 32000,
            "emb_dim": 4096,
            "inner_dim": 0,
            "n_predict": 3,
            "tie_weights": False,
            "top_k_tokens_per_head": [5, 4, 3],
        },
        VICUNA_7B,
        "MLP speculator",
        3 * (2 * 32000 * 4096 + 4096**2 + 2 * 4096),
        longest=3,
    ),
    Published(
        "MLP speculator, tied",
        {
            "model_type": "mlp_speculator",
            "vocab_size": 32000,
            "emb_dim": 4096,
            "inner_dim": 3072,
            "n_predict": 4,
            "tie_weights": True,
        },
        VICUNA_7B,
        "MLP speculator",
        2 * 32000 * 3072 + 4096 * 3072 + 3072**2 + 2 * 3072,
        longest=4,
    ),
    # google/gemma-4-E2B-it-assistant
    Published(
        "Gemma assistant",
        {
            "architectures": ["Gemma4AssistantForCausalLM"],
            "model_type": "gemma4_assistant",
            "backbone_hidden_size": 1536,
            "num_centroids": 2048,
            "centroid_intermediate_top_k": 32,
            "use_ordered_embeddings": True,
            "tie_word_embeddings": True,
            "dtype": "bfloat16",
            "text_config": {
                "model_type": "gemma4_text",
                "num_hidden_layers": 4,
                "hidden_size": 256,
                "intermediate_size": 2048,
                "num_attention_heads": 4,
                "num_key_value_heads": 1,
                "head_dim": 256,
                "global_head_dim": 512,
                "attention_k_eq_v": False,
                "sliding_window": 512,
                "num_kv_shared_layers": 4,
                "vocab_size": 262144,
                "hidden_size_per_layer_input": 0,
                "vocab_size_per_layer_input": 0,
                "enable_moe_block": False,
                "use_double_wide_mlp": False,
                "tie_word_embeddings": True,
                "layer_types": ["sliding_attention"] * 3 + ["full_attention"],
            },
        },
        GEMMA_E2B,
        "Gemma assistant",
        # Queries and their norms, 4 heads of 256 (thrice) and of 512; four norms a layer, one
        # behind all; projections; centroids; the tied matrix.
        2 * 256 * (3 * 1024 + 2048)
        + 3 * 256
        + 512
        + 4 * (3 * 256 * 2048 + 4 * 256)
        + 256
        + 3 * 256 * 1536
        + 2048 * 256
        + 262144 * 256,
        card=0.078,
    ),
)
