"""From model options to loaded objects: target, tokenizer, drafters, prompts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from estimator.prompts import embedded_prompts, encode_prompts, read_prompts
from reference.drafter import Drafter
from reference.cached_model import CachedModel
from reference.embedded import weights_folder
from reference.huggingface import (
    end_ids,
    load_model,
    load_tokenizer,
    require_same_tokenizer,
    resolve_device,
)
from reference.model_drafter import ModelDrafter
from reference.sampling import Sampling
from reference.stopping import Stopping
from specplan.drafter_names import DrafterName, parse_drafter
from specplan.model_options import EMBEDDED_PROMPT_TOKENS, ModelOptions

EMBEDDED = "embedded"
DrafterOf = Callable[[Sampling], Drafter]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a model command runs with.

    target, tokenizer: loaded.
    drafters: by name, each made for given sampling settings.
    prompts: ids, at least one prompt.
    stopping: max_new_tokens and the target's end-of-text ids.
    """

    target: CachedModel
    tokenizer: Any
    drafters: dict[str, DrafterOf]
    prompts: list[list[int]]
    stopping: Stopping


def load(options: ModelOptions) -> Loaded:
    """Returns everything that the options name; what can be refused is refused before loading.

    Raises:
      ValueError: with the option's name, rule and value.
    """
    names = options.drafts
    if not names:
        if options.target is not None:
            raise ValueError("draft must be given with a target, got none")
        names = (EMBEDDED,)
    parsed = {name: parse_drafter(name) for name in names}
    texts = None if options.prompts is None else read_prompts(options.prompts)
    device = resolve_device(options.device)
    folder = str(weights_folder("target")) if options.target is None else options.target
    if options.target is not None:
        for name in parsed.values():
            if name.kind == EMBEDDED:
                raise ValueError("draft embedded needs the embedded target, got another target")

    target = load_model(
        folder, device=device, dtype=options.dtype, trust_remote_code=options.trust_remote_code
    )
    if options.target is None:
        target.name = EMBEDDED
    tokenizer = load_tokenizer(folder, trust_remote_code=options.trust_remote_code)
    drafters = {
        text: _drafter(name, target, tokenizer, options) for text, name in parsed.items()
    }
    return Loaded(
        target,
        tokenizer,
        drafters,
        _prompts(texts, tokenizer, options),
        Stopping(options.max_new_tokens, end_ids(target.module, tokenizer)),
    )


def _prompts(texts: list[str] | None, tokenizer: Any, options: ModelOptions) -> list[list[int]]:
    if texts is not None:
        return encode_prompts(
            texts, tokenizer, count=options.num_prompts, prompt_tokens=options.prompt_tokens
        )
    tokens = options.prompt_tokens
    return embedded_prompts(
        tokenizer,
        count=options.num_prompts,
        prompt_tokens=EMBEDDED_PROMPT_TOKENS if tokens is None else tokens,
    )


def _drafter(
    name: DrafterName, target: CachedModel, tokenizer: Any, options: ModelOptions
) -> DrafterOf:
    """Returns what makes the named drafter for given sampling settings."""
    if name.kind in (EMBEDDED, "hf"):
        folder = str(weights_folder("draft")) if name.kind == EMBEDDED else str(name.value)
        draft = load_model(
            folder,
            device=target.device,
            dtype=options.dtype,
            trust_remote_code=options.trust_remote_code,
        )
        if name.kind == EMBEDDED:
            draft.name = EMBEDDED
        else:
            require_same_tokenizer(
                tokenizer,
                load_tokenizer(folder, trust_remote_code=options.trust_remote_code),
                target_name=target.name,
                draft_name=draft.name,
            )
        return lambda sampling: ModelDrafter(draft, sampling, target.vocabulary)
    raise ValueError(f"draft {name.kind} is not available")
