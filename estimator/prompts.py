"""Prompts as ids: of a user's texts, or of held-out library sources for the embedded pair."""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from reference.models.embedded import library_files

DEFINITION = re.compile(r"^(?:def|class) ", re.MULTILINE)


def encode_prompts(
    texts: Sequence[str], tokenizer: Any, *, prompt_tokens: int | None
) -> list[list[int]]:
    """Returns the ids of prompts, each cut to its first prompt_tokens.

    Raises:
      ValueError: if a prompt has no tokens.
    """
    prompts = [tokenizer(text)["input_ids"][:prompt_tokens] for text in texts]
    for number, prompt in enumerate(prompts, start=1):
        if not prompt:
            raise ValueError(f"a prompt must have at least one token, got none in prompt {number}")
    return prompts


def embedded_prompts(tokenizer: Any, *, count: int, prompt_tokens: int) -> list[list[int]]:
    """Returns prompts from library files that the embedded pair never saw, one for each file.

    A prompt begins at the middle one of a file's top-level definitions. The files come in the
    order of their paths' hashes; those too short are passed over.

    Returns:
      at most `count` lists of prompt_tokens ids.
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
            # Far more characters than tokens are needed: a token is at least a byte.
            start = definitions[len(definitions) // 2]
            ids = tokenizer(source[start : start + 16 * prompt_tokens])["input_ids"]
            if len(ids) >= prompt_tokens:
                prompts.append(ids[:prompt_tokens])
    return prompts


def prompts_hash(prompts: Sequence[Sequence[int]]) -> str:
    """Returns a hash of the prompts' ids, to tell whether two runs had the same."""
    return hashlib.sha256(json.dumps([list(ids) for ids in prompts]).encode()).hexdigest()[:16]
