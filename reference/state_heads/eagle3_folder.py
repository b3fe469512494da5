"""Reads and writes EAGLE-3 heads in the layout of SafeAILab's EAGLE or of speculators.

SafeAILab's layout (also SGLang's and vLLM's) calls the one layer `midlayer`. Speculators' calls it
`layers.0` and keeps the sizes in `transformer_layer_config`. Weights must be safetensors.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import LlamaConfig

from reference.files import read_json, whole_file
from reference.models.folders import CONFIGURATION, require_file
from reference.state_heads.eagle3 import Eagle3, Eagle3Shape

WEIGHTS = "model.safetensors"
PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")
# Tensors that are computed when the head is made.
LEFT_OUT = ("rotary_emb.inv_freq",)
OURS, SAFEAILABS = "layers.0.", "midlayer."


def load_eagle3(folder: Path, target: Any, *, name: str) -> Eagle3:
    """Returns the head in a folder, on its target's device and in its precision."""
    path = folder / CONFIGURATION
    require_file(folder, CONFIGURATION, "eagle3 must be a folder with a head")
    config: Any = read_json(path)
    stated = config.get("speculators_model_type", "eagle3") if isinstance(config, dict) else None
    if stated != "eagle3":
        raise ValueError(f"{path} must describe an EAGLE-3 head, got {stated}")
    tensors, safeailab = _read_tensors(folder)
    mask = tensors.pop("t2d", None)
    head = Eagle3(_shape(folder, config, tensors, target, name), target)
    _require_tensors(folder, tensors, head, named=_safeailabs if safeailab else str)
    if "d2t" in tensors:
        _require_map(folder, tensors["d2t"], mask, head.shape)
    head.load_state_dict(tensors, strict=False)
    return head.placed_like(target)


def save_eagle3(folder: Path, head: Eagle3) -> None:
    """Writes a head in SafeAILab's layout, as float16; each of the two files atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    shape = head.shape
    tensors = {
        _safeailabs(key): (value.half() if value.is_floating_point() else value).cpu().contiguous()
        for key, value in head.state_dict().items()
    }
    if shape.draft_vocabulary == shape.body.vocab_size:
        del tensors["d2t"]  # vLLM refuses a map of ids for a whole vocabulary
    else:
        marked = torch.zeros(shape.body.vocab_size, dtype=torch.bool)
        marked[torch.arange(shape.draft_vocabulary) + tensors["d2t"]] = True
        tensors["t2d"] = marked
    with whole_file(folder / WEIGHTS) as partial:
        save_file(tensors, partial, metadata={"format": "pt"})
    config = shape.body.to_diff_dict() | {
        "architectures": ["LlamaForCausalLMEagle3"],
        "vocab_size": shape.body.vocab_size,
        "draft_vocab_size": shape.draft_vocabulary,
        "target_hidden_size": shape.target_width,
        "tie_word_embeddings": False,
        "dtype": "float16",
        "eagle_aux_hidden_state_layer_ids": list(shape.taps),
    }
    with whole_file(folder / CONFIGURATION) as partial:
        partial.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


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
    of_target = target.config.get_text_config(decoder=True)
    wanted = config.get("target_hidden_size") or body.hidden_size
    for given, needed, what in (
        (wanted, of_target.hidden_size, f"states of {of_target.hidden_size}, the width"),
        (body.vocab_size, of_target.vocab_size, f"{of_target.vocab_size} ids, the vocabulary"),
    ):
        if given != needed:
            raise ValueError(
                f"the head in {folder} must be for {what} of {name}, got one for {given}"
            )
    own_embedding = "embed_tokens.weight" in tensors
    if not own_embedding and body.hidden_size != of_target.hidden_size:
        raise ValueError(
            f"{folder} must have embed_tokens.weight, as its width, {body.hidden_size}, is not "
            f"the width of {name}, got none"
        )
    drafted = config.get("draft_vocab_size") or body.vocab_size
    variants = ("norm_before_residual", "norm_output", "norm_before_fc")
    return Eagle3Shape(
        body=body,
        draft_vocabulary=drafted,
        target_width=wanted,
        taps=_taps(config, of_target.num_hidden_layers),
        own_embedding=own_embedding,
        own_output="lm_head.weight" in tensors or drafted != body.vocab_size,
        **{variant: bool(config.get(variant, False)) for variant in variants},
    )


def _taps(config: Mapping[str, Any], layers: int) -> tuple[int, ...]:
    """Returns the boundaries of the target's layers that a head reads.

    The configuration lists layers. As in SGLang, the head reads the listed layers' outputs if the
    list begins with 1, else their inputs.
    """
    name = "eagle_aux_hidden_state_layer_ids"
    nested = config.get("eagle_config")
    taps = config.get(name) or (nested.get(name) if isinstance(nested, Mapping) else None)
    if not taps:
        return 2, layers // 2, layers - 3
    return tuple(tap + 1 for tap in taps) if taps[0] == 1 else tuple(taps)


def _read_tensors(folder: Path) -> tuple[dict[str, Tensor], bool]:
    """Returns a folder's tensors by speculators' names, and whether it used SafeAILab's names."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        pickled = [path.name for pattern in PICKLED for path in sorted(folder.glob(pattern))]
        given = f"{pickled[0]}, which is pickled and may run code" if pickled else "none"
        raise ValueError(f"weights in {folder} must be safetensors, got {given}")
    tensors: dict[str, Tensor] = {}
    for path in files:
        try:
            tensors |= load_file(path)
        except (OSError, SafetensorError) as error:
            raise ValueError(f"{path} must be safetensors, got: {error}") from error
    named = {key.removeprefix("model."): value for key, value in tensors.items()}
    ours = {
        OURS + key.removeprefix(SAFEAILABS) if key.startswith(SAFEAILABS) else key: value
        for key, value in named.items()
        if not key.endswith(LEFT_OUT)
    }
    return ours, any(key.startswith(SAFEAILABS) for key in named)


def _safeailabs(key: str) -> str:
    """Returns a tensor's name in SafeAILab's layout."""
    return SAFEAILABS + key.removeprefix(OURS) if key.startswith(OURS) else key


def _require_tensors(
    folder: Path, tensors: Mapping[str, Tensor], head: Eagle3, *, named: Callable[[str], str]
) -> None:
    """Refuses tensors that do not fit a head; `named` returns a tensor's name in the files."""
    expected = head.state_dict()
    if head.shape.draft_vocabulary == head.shape.body.vocab_size and "d2t" not in tensors:
        del expected["d2t"]
    missing = [named(key) for key in expected if key not in tensors]
    if missing:
        others = f" and {len(missing) - 1} others" if len(missing) > 1 else ""
        raise ValueError(
            f"the head in {folder} must have all of its tensors, got none for {missing[0]}{others}"
        )
    for key, value in tensors.items():
        if key not in expected:
            raise ValueError(
                f"the head in {folder} must have only the tensors of EAGLE-3, got {named(key)}"
            )
        if value.shape != expected[key].shape:
            raise ValueError(
                f"{named(key)} in {folder} must have the shape {tuple(expected[key].shape)}, "
                f"got {tuple(value.shape)}"
            )


def _require_map(folder: Path, offsets: Tensor, mask: Tensor | None, shape: Eagle3Shape) -> None:
    """Refuses d2t offsets that leave the vocabulary, repeat an id, or contradict `mask` (t2d)."""
    ids = torch.arange(len(offsets)) + offsets
    outside = ((ids < 0) | (ids >= shape.body.vocab_size)).nonzero()
    if len(outside):
        place = int(outside[0])
        raise ValueError(
            f"d2t in {folder} must map into the {shape.body.vocab_size} ids of the target, "
            f"got {int(ids[place])} for the draft's id {place}"
        )
    if len(ids.unique()) < len(ids):
        raise ValueError(f"d2t in {folder} must map no two ids to one, got such a pair")
    if len(ids) == shape.body.vocab_size and offsets.any():
        raise ValueError(f"d2t in {folder} must be 0 for a whole vocabulary, got others")
    if mask is not None and set(mask.nonzero()[:, 0].tolist()) != set(ids.tolist()):
        raise ValueError(f"t2d in {folder} must mark the ids that d2t maps to, got others")
