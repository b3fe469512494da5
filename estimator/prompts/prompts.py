"""Turns settings into prompts: the user's own, a data set's, or library sources."""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from estimator.progress import notice
from estimator.prompts.datasets import read_dataset
from estimator.prompts.files import Prompt, read_prompts, require_characters
from estimator.settings import EMBEDDED_PROMPT_TOKENS, PromptSource
from reference.models.embedded import library_files
from reference.models.huggingface import encode_chat


def given_prompt(prompt: str) -> Prompt:
    """Returns a prompt given on the command line."""
    require_characters(prompt, "prompt")
    return Prompt(prompt)


def wanted_prompts(settings: PromptSource) -> list[Prompt] | None:
    """Returns the requested number of a user's prompts; None means library sources."""
    if settings.dataset is not None:
        if settings.prompts is not None:
            raise ValueError("prompts and dataset cannot both be given")
        return read_dataset(
            settings.dataset,
            configuration=settings.dataset_config,
            split=settings.dataset_split,
            count=settings.count,
        )
    for name, value in (
        ("dataset-config", settings.dataset_config), ("dataset-split", settings.dataset_split)
    ):  # fmt: skip
        if value is not None:
            raise ValueError(f"{name} must come with a dataset, got {value} without")
    if settings.prompts is not None:
        prompts, left_out = read_prompts(settings.prompts)
        if left_out:
            first, others = left_out[0], len(left_out) - 1
            notice(f"left out as no text: {first}" + (f" and {others} more" if others else ""))
        return prompts[: settings.count]
    if settings.chat:
        raise ValueError("chat needs a prompt of your own, got none")
    return None


def encoded_prompts(
    prompts: Sequence[Prompt] | None, tokenizer: Any, settings: PromptSource, target_name: str
) -> list[list[int]]:
    """Returns the ids of prompts, with the chat template if the settings request it."""
    if prompts is None:
        return _library_prompts(tokenizer, settings)
    texts = [prompt.text for prompt in prompts]
    if not settings.chat:
        return encode_prompts(texts, tokenizer, prompt_tokens=settings.prompt_tokens)
    if settings.prompt_tokens is not None:
        raise ValueError("prompt_tokens cannot be given with chat: it would cut the template")
    return [encode_chat(tokenizer, text, name=target_name) for text in texts]


def prompt_ids(settings: PromptSource, tokenizer: Any, target_name: str) -> list[list[int]]:
    return encoded_prompts(wanted_prompts(settings), tokenizer, settings, target_name)


def _library_prompts(tokenizer: Any, settings: PromptSource) -> list[list[int]]:
    tokens = settings.prompt_tokens
    tokens = EMBEDDED_PROMPT_TOKENS if tokens is None else tokens
    prompts = embedded_prompts(tokenizer, count=settings.count, prompt_tokens=tokens)
    if not prompts:
        raise ValueError(
            f"prompts must be given: this Python's library has no held-out source of {tokens} "
            "tokens, got none"
        )
    if len(prompts) < settings.count:
        notice(f"the library has {len(prompts)} held-out sources of {tokens} tokens, no more")
    return prompts


DEFINITION = re.compile(r"^(?:def|class) ", re.MULTILINE)


def encode_prompts(
    texts: Sequence[str], tokenizer: Any, *, prompt_tokens: int | None
) -> list[list[int]]:
    """Returns the ids of prompts, each cut to its first prompt_tokens."""
    prompts = [tokenizer(text)["input_ids"][:prompt_tokens] for text in texts]
    for number, prompt in enumerate(prompts, start=1):
        if not prompt:
            raise ValueError(f"a prompt must have at least one token, got none in prompt {number}")
    return prompts


def embedded_prompts(tokenizer: Any, *, count: int, prompt_tokens: int) -> list[list[int]]:
    """Returns at most `count` prompts of prompt_tokens ids from library files held out of training.

    A prompt begins at the middle one of a file's top-level definitions. Files are sorted by the
    hash of their path; files that are too short are skipped.
    """
    files = sorted(
        library_files(held=True), key=lambda path: hashlib.sha256(path.name.encode()).digest()
    )
    prompts: list[list[int]] = []
    for path in files:
        source = path.read_text(encoding="utf-8", errors="replace")
        definitions = [match.start() for match in DEFINITION.finditer(source)]
        if len(prompts) == count:
            break
        if definitions:
            # A token has at least one byte, so this is more text than needed.
            start = definitions[len(definitions) // 2]
            ids = tokenizer(source[start : start + 16 * prompt_tokens])["input_ids"]
            if len(ids) >= prompt_tokens:
                prompts.append(ids[:prompt_tokens])
    return prompts


def prompts_hash(prompts: Sequence[Sequence[int]]) -> str:
    """Returns a hash of the prompts' ids, which shows whether two runs had the same prompts."""
    return hashlib.sha256(json.dumps([list(ids) for ids in prompts]).encode()).hexdigest()[:16]
