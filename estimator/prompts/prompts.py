"""Turns settings into prompts: the user's own, a public data set's, or library sources."""

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from estimator.progress import notice
from estimator.prompts.files import Prompt, prompt_of, read_prompts, require_characters
from estimator.settings import EMBEDDED_PROMPT_TOKENS, PromptSource
from reference.models.embedded import library_files

DEFINITION = re.compile(r"^(?:def|class) ", re.MULTILINE)


def wanted_prompts(settings: PromptSource, given: str | None = None) -> list[Prompt] | None:
    """Returns the requested number of prompts; None if settings name no source of prompts.

    given: the text of a single prompt; None: prompts are read from the source in the settings.
    """
    if settings.chat and settings.prompt_tokens is not None:
        raise ValueError("prompt_tokens cannot be given with chat: it would cut the template")
    if given is not None:
        if not given.strip():
            raise ValueError("prompt must not be empty, got an empty one")
        for source in ("prompts", "dataset", "dataset_config", "dataset_split"):
            if getattr(settings, source) is not None:
                raise ValueError(f"prompt and {source} cannot both be given")
        require_characters(given, "prompt")
        return [Prompt(given)]
    if settings.dataset is not None:
        if settings.prompts is not None:
            raise ValueError("prompts and dataset cannot both be given")
        return read_dataset(settings.dataset, settings)
    for name in ("config", "split"):
        value = getattr(settings, f"dataset_{name}")
        if value is not None:
            raise ValueError(f"dataset-{name} must come with a dataset, got {value} without")
    if isinstance(settings.prompts, tuple):
        return [prompt_of(text, "a prompt") for text in settings.prompts]
    if settings.prompts is not None:
        return read_prompts(settings.prompts)[: settings.num_prompts]
    if settings.chat:
        raise ValueError("chat needs a prompt of your own, got none")
    return None


def encoded_prompts(
    prompts: Sequence[Prompt] | None, tokenizer: Any, settings: PromptSource, target_name: str
) -> list[list[int]]:
    """Returns token ids per prompt, cut or in a chat template if settings request it.

    prompts: None means `embedded_prompts`. target_name: the target's name, for messages.
    """
    longest = settings.prompt_tokens
    if prompts is None:
        tokens = EMBEDDED_PROMPT_TOKENS if longest is None else longest
        held_out = embedded_prompts(tokenizer, count=settings.num_prompts, prompt_tokens=tokens)
        if not held_out:
            raise ValueError(
                f"prompts must be given: this Python's library has no held-out source of {tokens} "
                "tokens, got none"
            )
        if len(held_out) < settings.num_prompts:
            notice(f"the library has {len(held_out)} held-out sources of {tokens} tokens, no more")
        return held_out
    if settings.chat:
        from reference.models.huggingface import encode_chat

        return [encode_chat(tokenizer, prompt.text, name=target_name) for prompt in prompts]
    encoded = [tokenizer(prompt.text)["input_ids"][:longest] for prompt in prompts]
    if [] in encoded:
        number = encoded.index([]) + 1
        raise ValueError(f"a prompt must have at least one token, got none in prompt {number}")
    return encoded


def prompt_ids(settings: PromptSource, tokenizer: Any, target_name: str) -> list[list[int]]:
    return encoded_prompts(wanted_prompts(settings), tokenizer, settings, target_name)


def embedded_prompts(tokenizer: Any, *, count: int, prompt_tokens: int) -> list[list[int]]:
    """Returns at most `count` prompts from files of Python's library.

    The embedded models were not trained on these files.
    A prompt has `prompt_tokens` ids and begins at the middle one of a file's top-level definitions.
    Files are sorted by the hash of their name; files that are too short are skipped.
    """
    held = library_files(held=True)
    prompts: list[list[int]] = []
    for path in sorted(held, key=lambda path: hashlib.sha256(path.name.encode()).digest()):
        if len(prompts) == count:
            break
        source = path.read_text(encoding="utf-8", errors="replace")
        definitions = [match.start() for match in DEFINITION.finditer(source)]
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


def require_dataset(name: str) -> None:
    """Refuses a data set that is no path and not in the cache if the hub cannot be reached."""
    from huggingface_hub import constants

    from reference.models.hub import require_hub

    cache = Path(os.environ.get("HF_DATASETS_CACHE", Path(constants.HF_HOME) / "datasets"))
    if Path(name).exists() or (cache / name.replace("/", "___")).exists():
        return
    try:
        require_hub()
        if constants.HF_HUB_OFFLINE:
            raise ConnectionError("there is no such folder, and HF_HUB_OFFLINE forbids a download")
    except ConnectionError as error:
        raise ValueError(f"dataset {name!r} could not be loaded: {error}") from error


def read_dataset(name: str, settings: PromptSource) -> list[Prompt]:
    """Returns the first prompts of a data set on the Hugging Face hub, or of a folder of files.

    If a data set has only one configuration or split, the settings need not name it.
    """
    require_dataset(name)
    from datasets import load_dataset
    from datasets.exceptions import DatasetsError

    from reference.models.hub import quiet

    try:
        with quiet(), _bars():
            rows: Any = load_dataset(name, settings.dataset_config, split=settings.dataset_split)
    except (DatasetsError, OSError, ValueError) as error:
        raise ValueError(f"dataset {name!r} could not be loaded: {error}") from error
    if settings.dataset_split is None:
        if len(rows) > 1:
            raise ValueError(f"dataset-split must be one of {', '.join(rows)} of {name}, got none")
        [rows] = rows.values()
    if len(rows) == 0:
        raise ValueError(f"dataset must have at least one row, got none in {name}")
    chosen = range(min(settings.num_prompts, len(rows)))
    return [prompt_of(rows[number], f"{name} row {number + 1}") for number in chosen]


@contextmanager
def _bars() -> Iterator[None]:
    """Shows progress bars on a terminal only."""
    from datasets import utils

    hidden = not (sys.stderr.isatty() or utils.are_progress_bars_disabled())
    if hidden:
        utils.disable_progress_bars()
    try:
        yield
    finally:
        if hidden:
            utils.enable_progress_bars()
