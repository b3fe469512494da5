"""A config.json read, and the decoder that it describes as transformers would build it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel


def read_config(path: Path) -> dict[str, Any]:
    """Returns the JSON object of a config.json, given by itself or by its folder.

    Raises:
      OSError: if it cannot be read.
      ValueError: if it is no JSON object.
    """
    file = path / "config.json" if path.is_dir() else path
    try:
        config: Any = json.loads(file.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{file} must be JSON, got: {error}") from None
    if not isinstance(config, dict):
        raise ValueError(f"{file} must hold a JSON object, got a {type(config).__name__}")
    return config


def architecture(config: Mapping[str, Any]) -> str:
    """Returns the name of a model's architecture.

    Raises:
      ValueError: if the file has none.
    """
    kind = config.get("model_type")
    if not isinstance(kind, str) or not kind:
        raise ValueError("config.json must name its architecture, got no model_type")
    return kind


def decoder_config(config: Mapping[str, Any]) -> PreTrainedConfig:
    """Returns the configuration of the causal language model: of several parts, the text's.

    Raises:
      ValueError: if the file names no architecture, one that transformers lacks, or one that is no
        causal language model, or if transformers refuses it.
    """
    from transformers import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL

    kind = architecture(config)
    if kind not in CONFIG_MAPPING:
        raise ValueError(f"model_type must be one that transformers knows, got {kind}")
    if config.get("is_encoder_decoder") is True:
        raise ValueError(f"config.json must describe a decoder, got {kind}, an encoder–decoder")
    # Weights are counted as if they were not quantised; how they are stored is read elsewhere.
    plain = {name: value for name, value in config.items() if name != "quantization_config"}
    try:
        whole = CONFIG_MAPPING[kind].from_dict(plain)
        text = whole.get_text_config(decoder=True)
    except Exception as error:
        raise ValueError(f"transformers refuses this {kind}: {_one_line(error)}") from None
    if text.model_type in CAUSAL:
        return text
    if kind in CAUSAL:
        return whole
    raise ValueError(f"config.json must describe a causal language model, got {kind}")


def build(config: PreTrainedConfig, *, kind: str) -> PreTrainedModel:
    """Returns the model on the meta device: its modules and their sizes, and no numbers.

    Args:
      config: of the causal language model.
      kind: the architecture that the file names, for messages; config may be a part of it.

    Raises:
      ValueError: if transformers cannot build it.
    """
    import torch
    from transformers import AutoModelForCausalLM

    try:
        with torch.device("meta"):
            return AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).eval()
    except Exception as error:
        raise ValueError(
            f"transformers cannot build this {kind}: {_one_line(error)}"
        ) from None


def _one_line(error: Exception) -> str:
    words = " ".join(str(error).split()) or type(error).__name__
    return words if len(words) <= 200 else words[:200] + "…"
