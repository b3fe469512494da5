"""Loads models and tokenizers of Hugging Face, and checks that target and draft fit."""

from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

from reference.models.architectures import CausalModel, EncoderDecoderModel
from reference.models.cached_model import CachedModel
from reference.models.device_maps import DeviceMap, require_modules
from reference.models.folders import unloadable
from reference.models.hub import UNLOADABLE, quiet, require_reachable
from reference.models.matching import different_tokenizers, require_one_kind
from reference.models.recurrent_model import RecurrentModel, is_recurrent_model

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def resolve_device(device: str) -> torch.device:
    """Returns the device for "auto", "cpu" or "cuda"; refuses "cuda" where there is none."""
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device must be one that this machine has, got cuda without a CUDA device")
    automatic = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(automatic if device == "auto" else device)


def load_model(
    name: str,
    *,
    device: torch.device,
    device_map: DeviceMap | None = None,
    dtype: str = "auto",
    revision: str | None = None,
    trust_remote_code: bool = False,
) -> CachedModel:
    """Loads the model of a Hugging Face name or folder. Its weights must be safetensors.

    device_map: spreads the model over several devices instead of `device`.
    dtype: "float32", "bfloat16", "float16", or "auto": float32 on a CPU, the checkpoint's own
      elsewhere.
    """
    on_cpu = device.type == "cpu"
    if device_map is not None and not isinstance(device_map, str):
        on_cpu = set(device_map.values()) == {"cpu"}
    chosen: Any = DTYPES.get(dtype, torch.float32 if on_cpu else "auto")
    try:
        require_reachable(name, revision)
        with quiet():
            origin: Any = {"revision": revision, "trust_remote_code": trust_remote_code}
            config = AutoConfig.from_pretrained(name, **origin)
            family = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
            module, report = family.from_pretrained(
                name,
                config=config,
                dtype=chosen,
                device_map=device_map,
                use_safetensors=True,
                output_loading_info=True,
                **origin,
            )
    except UNLOADABLE as error:
        raise unloadable("model", name, error) from error
    if report["missing_keys"]:
        # transformers would fill missing weights with random numbers.
        missing = sorted(report["missing_keys"])
        raise ValueError(
            f"model {name!r} must have all of its weights, got none for {missing[0]} and "
            f"{len(missing) - 1} others"
        )
    adapter = adapter_of(module)
    if device_map is None:
        return adapter(module.to(device), name)
    require_modules(module, device_map, name)
    return adapter(module, name)


def adapter_of(module: Any) -> type[CachedModel]:
    """Returns the subclass of `CachedModel` that wraps a `PreTrainedModel` of this kind."""
    if module.config.is_encoder_decoder:
        return EncoderDecoderModel
    return RecurrentModel if is_recurrent_model(module) else CausalModel


def load_tokenizer(
    name: str, *, revision: str | None = None, trust_remote_code: bool = False
) -> Any:
    """Returns the tokenizer of a Hugging Face name or folder."""
    try:
        require_reachable(name, revision)
        with quiet():
            return AutoTokenizer.from_pretrained(
                name, revision=revision, trust_remote_code=trust_remote_code
            )
    except UNLOADABLE as error:
        raise unloadable("tokenizer", name, error) from error


def require_same_tokenizer(target: Any, draft: Any, *, target_name: str, draft_name: str) -> None:
    """Refuses a pair with different tokenizers."""
    if target.get_vocab() != draft.get_vocab():
        raise ValueError(different_tokenizers((target_name, len(target)), (draft_name, len(draft))))


def require_same_kind(target: CachedModel, draft: CachedModel) -> None:
    """Refuses a pair in which one model is decoder-only and the other is encoder-decoder."""
    require_one_kind((target.name, target.kind), (draft.name, draft.kind))


def end_ids(module: Any, tokenizer: Any) -> frozenset[int]:
    """Returns a model's end-of-text ids; if it defines none, the tokenizer's."""
    declared = module.generation_config.eos_token_id
    ids = tokenizer.eos_token_id if declared is None else declared
    if ids is None:
        return frozenset()
    return frozenset([ids] if isinstance(ids, int) else ids)


def encode_chat(tokenizer: Any, prompt: str, *, name: str) -> list[int]:
    """Returns the ids of a user's message in the chat template, up to where the answer begins."""
    if tokenizer.chat_template is None:
        raise ValueError(
            f"a chat needs a tokenizer with a chat template, got {name}'s, which has none"
        )
    messages = [{"role": "user", "content": prompt}]
    encoded = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)
    return list(encoded["input_ids"])


# By name, the values with which a setting of generation has no effect.
NEUTRAL: dict[str, tuple[object, ...]] = {
    "temperature": (1.0,), "top_k": (0,), "top_p": (1.0,), "min_p": (0.0,), "top_h": (),
    "typical_p": (1.0,), "epsilon_cutoff": (0.0,), "eta_cutoff": (0.0,),
    "repetition_penalty": (1.0,), "encoder_repetition_penalty": (1.0,),
    "no_repeat_ngram_size": (0,), "encoder_no_repeat_ngram_size": (0,), "num_beams": (1,),
    "min_length": (0,), "min_new_tokens": (0,), "forced_eos_token_id": (),
    "begin_suppress_tokens": ([],), "exponential_decay_length_penalty": (),
    "guidance_scale": (1.0,), "sequence_bias": (),
}  # fmt: skip


def unapplied_settings(generation_config: Any) -> dict[str, object]:
    """Returns the settings of a model's generation config that this decoder ignores, by name."""
    stated = {name: getattr(generation_config, name, None) for name in NEUTRAL}
    return {
        name: value
        for name, value in stated.items()
        if value is not None and value not in NEUTRAL[name]
    }
