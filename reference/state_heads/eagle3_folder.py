"""Reads and writes EAGLE-3 heads in the layout of SafeAILab's EAGLE or of speculators.

SafeAILab's layout (also SGLang's and vLLM's) calls the one layer `midlayer`. Speculators' calls it
`layers.0` and keeps the sizes in `transformer_layer_config`. Weights must be safetensors.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import LlamaConfig

from reference.atomic import whole_file
from reference.reading import read_json
from reference.state_heads.eagle3 import Eagle3, Eagle3Shape
from reference.state_heads.eagle3_tensors import WEIGHTS, midlayer_name, read_tensors

CONFIGURATION = "config.json"


def load_eagle3(folder: Path, target: Any, *, name: str) -> Eagle3:
    """Returns the head in a folder, on its target's device and in its precision."""
    config = _configuration(folder)
    stored = read_tensors(folder)
    head = Eagle3(_shape(folder, config, stored.tensors, target, name), target)
    stored.require(head)
    head.load_state_dict(stored.tensors, strict=False)
    return head.beside(target)


def save_eagle3(folder: Path, head: Eagle3) -> None:
    """Writes a head in SafeAILab's layout, as float16; each of the two files atomically.

    A head for the whole vocabulary is written without a map of ids, because vLLM refuses one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shape = head.shape
    tensors = {
        midlayer_name(key): (value.half() if value.is_floating_point() else value).cpu()
        for key, value in head.state_dict().items()
    }
    if shape.draft_vocabulary == shape.vocabulary:
        del tensors["d2t"]
    else:
        marked = torch.zeros(shape.vocabulary, dtype=torch.bool)
        marked[torch.arange(shape.draft_vocabulary) + tensors["d2t"]] = True
        tensors["t2d"] = marked
    tensors = {name: each.contiguous() for name, each in tensors.items()}
    with whole_file(folder / WEIGHTS) as partial:
        save_file(tensors, partial, metadata={"format": "pt"})
    config = shape.body.to_diff_dict() | {
        "architectures": ["LlamaForCausalLMEagle3"],
        "vocab_size": shape.vocabulary,
        "draft_vocab_size": shape.draft_vocabulary,
        "target_hidden_size": shape.target_width,
        "tie_word_embeddings": False,
        "dtype": "float16",
        "eagle_aux_hidden_state_layer_ids": list(shape.taps),
    }
    with whole_file(folder / CONFIGURATION) as partial:
        partial.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _configuration(folder: Path) -> dict[str, Any]:
    path = folder / CONFIGURATION
    if not path.is_file():
        raise ValueError(f"eagle3 must be a folder with {CONFIGURATION}, got {folder} without it")
    config: Any = read_json(path)
    kind = config.get("speculators_model_type", "eagle3") if isinstance(config, dict) else None
    if kind != "eagle3":
        raise ValueError(f"{path} must describe an EAGLE-3 head, got {kind}")
    return dict(config)


def _shape(
    folder: Path, config: Mapping[str, Any], tensors: Mapping[str, Tensor], target: Any, name: str
) -> Eagle3Shape:
    """Returns a head's sizes after checking them against the target's."""
    path = folder / CONFIGURATION
    sizes = config.get("transformer_layer_config", config)
    for setting in ("hidden_size", "intermediate_size", "num_attention_heads", "vocab_size"):
        if not isinstance(sizes.get(setting), int):
            raise ValueError(f"{setting} in {path} must be an integer, got {sizes.get(setting)!r}")
    body = LlamaConfig.from_dict({**sizes, "model_type": "llama"})
    body.num_hidden_layers = sizes.get("num_hidden_layers", 1)
    body._attn_implementation = "sdpa"
    own = target.config.get_text_config(decoder=True)
    wanted = config.get("target_hidden_size") or body.hidden_size
    if wanted != own.hidden_size:
        raise ValueError(
            f"the head in {folder} must be for states of {own.hidden_size}, the width of {name}, "
            f"got one for {wanted}"
        )
    if body.vocab_size != own.vocab_size:
        raise ValueError(
            f"the head in {folder} must be for {own.vocab_size} ids, the vocabulary of {name}, "
            f"got one for {body.vocab_size}"
        )
    own_embedding = "embed_tokens.weight" in tensors
    if not own_embedding and body.hidden_size != own.hidden_size:
        raise ValueError(
            f"{folder} must have embed_tokens.weight, as its width, {body.hidden_size}, is not "
            f"the width of {name}, got none"
        )
    drafted = config.get("draft_vocab_size") or body.vocab_size
    return Eagle3Shape(
        body=body,
        vocabulary=body.vocab_size,
        draft_vocabulary=drafted,
        target_width=wanted,
        taps=_taps(config, own.num_hidden_layers),
        norm_before_residual=bool(config.get("norm_before_residual", False)),
        norm_output=bool(config.get("norm_output", False)),
        norm_before_fc=bool(config.get("norm_before_fc", False)),
        own_embedding=own_embedding,
        own_output="lm_head.weight" in tensors or drafted != body.vocab_size,
    )


def _taps(config: Mapping[str, Any], layers: int) -> tuple[int, ...]:
    """Returns the boundaries of the target's layers that a head reads.

    Some configurations count the layer that made a state and begin with 1, because they never read
    the embeddings. Others count the layer that reads the state and begin with 2. SGLang
    distinguishes them in this way, too.
    """
    name = "eagle_aux_hidden_state_layer_ids"
    nested = config.get("eagle_config")
    found = config.get(name) or (nested.get(name) if isinstance(nested, Mapping) else None)
    if not found:
        return 2, layers // 2, layers - 3
    return tuple(each + 1 for each in found) if found[0] == 1 else tuple(found)
