"""Builds the decoder of a config.json on the meta device, and runs one pass there."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reference.reading import read_json

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedConfig, PreTrainedModel


def read_config(path: Path) -> dict[str, Any]:
    """Returns the JSON object of a config.json, given as a file or its folder."""
    file = path / "config.json" if path.is_dir() else path
    if not file.exists():
        hub = f"; from the hub: hf download {path} config.json --local-dir {path.name}"
        named = re.fullmatch(r"[\w.-]+/[\w.-]+(?<!\.json)", str(path)) and file == path
        what = "no such file: give the path of a config.json" + (hub if named else "")
        raise FileNotFoundError(errno.ENOENT, what, str(file))
    config: Any = read_json(file)
    if not isinstance(config, dict):
        raise ValueError(f"{file} must hold a JSON object, got a {type(config).__name__}")
    return config


def architecture(config: Mapping[str, Any]) -> str:
    """Returns the name of a model's architecture."""
    kind = config.get("model_type")
    if not isinstance(kind, str) or not kind:
        raise ValueError("config.json must name its architecture, got no model_type")
    return kind


def decoder_config(config: Mapping[str, Any]) -> PreTrainedConfig:
    """Returns the configuration of the causal language model; of several parts, the text part."""
    from transformers import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL

    kind = architecture(config)
    if kind not in CONFIG_MAPPING:
        raise ValueError(f"model_type must be one that transformers knows, got {kind}")
    if config.get("is_encoder_decoder") is True:
        raise ValueError(f"config.json must describe a decoder, got {kind}, an encoder–decoder")
    try:
        whole = CONFIG_MAPPING[kind].from_dict(without_storage(config))
        text = whole.get_text_config(decoder=True)
    except Exception as error:
        raise ValueError(f"transformers refuses this {kind}: {_one_line(error)}") from None
    if text.model_type in CAUSAL:
        return text
    if kind in CAUSAL:
        return whole
    raise ValueError(f"config.json must describe a causal language model, got {kind}")


def without_storage(config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the configuration without quantisation, which changes no module (see `storage`)."""
    plain = dict(config)
    plain.pop("quantization_config", None)
    return plain


def build(config: PreTrainedConfig, *, kind: str) -> PreTrainedModel:
    """Returns the model on the meta device: modules and sizes without numbers."""
    import torch
    from transformers import AutoModelForCausalLM

    try:
        with torch.device("meta"):
            return AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
    except Exception as error:
        raise ValueError(f"transformers cannot build this {kind}: {_one_line(error)}") from None


def _one_line(error: Exception) -> str:
    words = " ".join(str(error).split()) or type(error).__name__
    return words if len(words) <= 200 else words[:200] + "…"


# Number of tokens in the pass.
TOKENS = 4


def meta_pass(model: PreTrainedModel) -> tuple[Any, Mapping[str, int]]:
    """Returns the cache after a pass over a few tokens, and the uses of matrices in the pass.

    The cache holds tensors without numbers. Uses are counted by the matrix' name, over all modules
    that share it; a matrix whose module was not called is missing.
    """
    import torch

    name = type(model).__name__
    ids = torch.ones(1, TOKENS, dtype=torch.long, device="meta")
    # transformers would search ids without values for padding. Some configurations check values on
    # assignment and do not accept None.
    vars(model.config)["pad_token_id"] = None
    failed: list[Exception] = []
    # Some models make tensors without a device, others compute with plain numbers.
    devices: tuple[AbstractContextManager[Any], ...] = (torch.device("meta"), nullcontext())
    for device in devices:
        try:
            with torch.no_grad(), device, _counted(model) as uses:
                output = model(input_ids=ids, use_cache=True)
            break
        except Exception as error:
            failed.append(error)
    else:
        why = _one_line(failed[0])
        raise ValueError(f"the cache of {name} cannot be counted without weights: {why}")
    cache = getattr(output, "past_key_values", None)
    if cache is None:
        cache = getattr(output, "cache_params", None)
    if type(cache).__name__ != "DynamicCache":
        found = "no cache" if cache is None else type(cache).__name__
        raise ValueError(f"{name} must be a decoder with a cache of known layers, got {found}")
    return cache, {n: uses[id(each)] for n, each in model.named_parameters() if id(each) in uses}


@contextmanager
def _counted(model: nn.Module) -> Iterator[dict[int, int]]:
    """Counts by identity how often matrices are used, over all modules that hold them.

    Looking up an embedding does not count; an output matrix may be the embedding, too.
    """
    from torch import nn

    uses: dict[int, int] = {}

    def count(module: nn.Module, *_: Any) -> None:
        for each in module.parameters(recurse=False):
            if each.dim() >= 2:
                uses[id(each)] = uses.get(id(each), 0) + 1

    hooks = [
        module.register_forward_hook(count)
        for module in model.modules()
        if not isinstance(module, nn.Embedding)
    ]
    try:
        yield uses
    finally:
        for hook in hooks:
            hook.remove()
