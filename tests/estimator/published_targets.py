"""Published configurations of targets, in the sizes that heads for them were made for."""

from typing import Any


def llama(hidden: int, inner: int, heads: int, cached: int, vocabulary: int) -> dict[str, Any]:
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
GEMMA_E2B: dict[str, Any] = {
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
