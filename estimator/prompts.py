"""Prompts: from a user's files, or held-out standard-library sources for the embedded pair."""

import glob
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reference.models.embedded import library_files

JSON_FIELDS = ("prompt", "text", "turns")
DEFINITION = re.compile(r"^(?:def|class) ", re.MULTILINE)


def read_prompts(source: str) -> list[str]:
    """Returns the prompts of a .txt or .jsonl file, or one for each file of a folder or glob.

    A .txt file has one prompt a line; a line of a .jsonl file has a field `prompt`, `text` or
    `turns` (its first turn). Blank lines are skipped.

    Raises:
      ValueError: if source does not exist, cannot be read, has no prompts or an empty one.
    """
    path = Path(source)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
    elif path.is_file():
        files = [path]
    else:
        files = sorted(Path(name) for name in glob.glob(source, recursive=True))
        files = [file for file in files if file.is_file()]
        if not files:
            raise ValueError(f"prompts must be an existing file, folder or glob, got {source}")
    if path.is_file() and path.suffix == ".jsonl":
        prompts = _json_lines(path)
    elif path.is_file():
        prompts = [line for line in _read(path).splitlines() if line.strip()]
    else:
        prompts = [_read(file) for file in files]
    if not prompts:
        raise ValueError(f"prompts must hold at least one prompt, got none in {source}")
    for number, prompt in enumerate(prompts, start=1):
        if not prompt.strip():
            raise ValueError(f"a prompt must not be empty, got an empty one: {number} in {source}")
    return prompts


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"prompts must be readable UTF-8 text, got {path}: {error}") from error


def _json_lines(path: Path) -> list[str]:
    prompts = []
    for number, line in enumerate(_read(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path} line {number} must be JSON, got: {error}") from error
        prompts.append(_field(record, f"{path} line {number}"))
    return prompts


def _field(record: Any, where: str) -> str:
    """Returns the prompt of one JSON record."""
    for name in JSON_FIELDS:
        if isinstance(record, dict) and name in record:
            value = record[name]
            if name == "turns" and isinstance(value, list) and value:
                value = value[0]
            if isinstance(value, str):
                return value
            raise ValueError(f"{where}: field {name} must be text, got {type(value).__name__}")
    raise ValueError(f"{where} must have a field {', '.join(JSON_FIELDS)}, got none of them")


def encode_prompts(
    texts: Sequence[str], tokenizer: Any, *, count: int, prompt_tokens: int | None
) -> list[list[int]]:
    """Returns the ids of the first `count` prompts, each cut to its first prompt_tokens.

    Raises:
      ValueError: if a prompt has no tokens.
    """
    prompts = [tokenizer(text)["input_ids"][:prompt_tokens] for text in texts[:count]]
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
