"""Checks, without PyTorch, that a draft matches its target: kind, layers and vocabulary."""

import json
from pathlib import Path
from typing import Any

from reference.models.folders import configuration_of, file_of, stored_tensors

DECODER_ONLY, ENCODER_DECODER = "decoder-only", "encoder-decoder"


def require_alike(target: str, draft: str) -> None:
    """Refuses two models, names or folders, whose files show different kinds or vocabularies."""
    settings = [(name, configuration_of(name)) for name in (target, draft)]
    if all(config for _, config in settings):
        require_one_kind(*((name, _kind(config)) for name, config in settings))
    _require_one_vocabulary(target, draft)


def require_one_kind(target: tuple[str, str], draft: tuple[str, str]) -> None:
    """Refuses a pair, each a name and a kind, of a decoder-only and an encoder-decoder model."""
    if target[1] != draft[1]:
        raise ValueError(
            "target and draft must both be decoder-only or both encoder-decoder models, "
            f"got {target[0]} ({target[1]}) and {draft[0]} ({draft[1]})"
        )


def _kind(settings: dict[str, Any]) -> str:
    return ENCODER_DECODER if settings.get("is_encoder_decoder") else DECODER_ONLY


def decoder_layers(name: str) -> int | None:
    """Returns the layers of a decoder-only model by its config.json; None if that does not say."""
    settings = configuration_of(name)
    settings = settings.get("text_config", settings)
    layers = settings.get("num_hidden_layers")
    return layers if isinstance(layers, int) and _kind(settings) == DECODER_ONLY else None


def require_exit(layers: int, of_target: int, name: str) -> None:
    """Refuses an early exit after `layers` layers of a target that has `of_target` layers."""
    if not 1 <= layers < of_target:
        raise ValueError(
            f"an early exit must come after at least 1 layer and before the last of the "
            f"{of_target} layers of {name}, got {layers}"
        )


def require_prediction_layer(folder: Path, layers: int, name: str) -> None:
    """Refuses a target without exactly one layer of multi-token prediction after its `layers`."""
    stored = stored_tensors(folder)
    first, second = (
        any(key.startswith(f"model.layers.{layer}.") for key in stored)
        for layer in (layers, layers + 1)
    )
    if not first:
        raise ValueError(
            f"{name} must have a layer of multi-token prediction in safetensors, got none for "
            f"model.layers.{layers} in {folder}"
        )
    if second:
        raise ValueError(
            f"{name} must have one layer of multi-token prediction to draft with, got several"
        )


def _require_one_vocabulary(target: str, draft: str) -> None:
    """Refuses two models whose files have different vocabularies.

    Reads tokenizer.json of folders and of the hub's cache; a model without that file is not judged.
    """
    both = [(name, _vocabulary(name)) for name in (target, draft)]
    (_, of_target), (_, of_draft) = both
    if of_target and of_draft and of_target != of_draft:
        raise ValueError(different_tokenizers(*((name, len(tokens)) for name, tokens in both)))


def different_tokenizers(target: tuple[str, int], draft: tuple[str, int]) -> str:
    """Returns the message that two models, each a name and its number of tokens, do not match."""
    return (
        f"target and draft must share one tokenizer, got {target[0]} with {target[1]} tokens and "
        f"{draft[0]} with {draft[1]}"
    )


def _vocabulary(name: str) -> dict[str, int]:
    """Returns a model's tokens with their ids; empty if its files do not state them."""
    tokenizer, settings = file_of(name, "tokenizer.json"), file_of(name, "tokenizer_config.json")
    try:
        parsed = json.loads(tokenizer.read_bytes()) if tokenizer else {}
        tokens = dict(parsed["model"]["vocab"])
        tokens |= {added["content"]: added["id"] for added in parsed["added_tokens"]}
        more = json.loads(settings.read_bytes()) if settings else {}
        named = more.get("added_tokens_decoder", {}).items()
        return tokens | {added["content"]: int(number) for number, added in named}
    except (ValueError, KeyError, TypeError, OSError):
        return {}
