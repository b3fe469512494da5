"""Writes Llama-shaped models from Hugging Face folders as GGUF files for llama.cpp."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
from safetensors.numpy import load_file

from reference.files import read_json

ARCHITECTURE = "LlamaForCausalLM"


def write_gguf(folder: Path, tokenizer_folder: Path, path: Path, *, half: bool = False) -> None:
    """Writes a Llama-shaped model and its byte-level BPE tokenizer as a GGUF file in float32.

    half: whether matrices are written in float16.

    Refuses other models and tokenizers, which llama.cpp's own converter handles.
    """
    config = _json(folder / "config.json")
    tokenizer = _json(tokenizer_folder / "tokenizer.json")
    if config.get("architectures") != [ARCHITECTURE]:
        raise ValueError(
            f"a model must be a {ARCHITECTURE} to be written as GGUF here, got "
            f"{config.get('architectures')} in {folder}; convert others with llama.cpp's own "
            "convert_hf_to_gguf.py and name the .gguf files"
        )
    tokenizer_type = tokenizer["model"]["type"]
    before = (tokenizer.get("pre_tokenizer") or {}).get("type")
    if (tokenizer_type, before) != ("BPE", "ByteLevel"):
        raise ValueError(
            "a tokenizer must be byte-level BPE to be written as GGUF here, got "
            f"{tokenizer_type} after {before} in {tokenizer_folder}"
        )
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(folder.name)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(config.get("head_dim") or config["hidden_size"] // heads)
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    _add_tokenizer(writer, tokenizer, config)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    for name, weights in load_file(folder / "model.safetensors").items():
        values = weights.astype(np.float32)
        # llama.cpp rotates neighbouring dimensions of a head, Hugging Face its two halves.
        for part, count in (("q_proj.weight", heads), ("k_proj.weight", kv_heads)):
            if name.endswith(part):
                halves = values.reshape(count, 2, -1, values.shape[1])
                values = halves.swapaxes(1, 2).reshape(values.shape)
        known = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if known is None:
            raise ValueError(f"a model's weights must be Llama's, got {name} in {folder}")
        dtype = np.float16 if half and values.ndim > 1 else np.float32
        writer.add_tensor(known, np.ascontiguousarray(values, dtype=dtype))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokenizer(writer: Any, tokenizer: dict[str, Any], config: dict[str, Any]) -> None:
    # A vocabulary may be padded beyond its tokenizer.
    tokens = [f"[PAD{number}]" for number in range(config["vocab_size"])]
    types = [gguf.TokenType.UNUSED] * len(tokens)
    for token, number in tokenizer["model"]["vocab"].items():
        tokens[number], types[number] = token, gguf.TokenType.NORMAL
    for added in tokenizer["added_tokens"]:
        tokens[added["id"]], types[added["id"]] = added["content"], gguf.TokenType.CONTROL
    merges = tokenizer["model"]["merges"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([pair if isinstance(pair, str) else " ".join(pair) for pair in merges])
    if isinstance(config.get("eos_token_id"), int):
        writer.add_eos_token_id(config["eos_token_id"])
    writer.add_add_bos_token(False)


def _json(path: Path) -> dict[str, Any]:
    loaded = read_json(path)
    if not isinstance(loaded, dict):
        raise ValueError(f"{path} must hold a JSON object, got {type(loaded).__name__}")
    return loaded
