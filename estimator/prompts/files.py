"""Reads prompts from a user's files: lines, common shapes of JSON, folders."""

import glob
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from estimator.progress import notice
from reference.files import read_whole

# Public collections of chats have about 700 MB.
MOST_PROMPT_BYTES = 1_000_000_000
JSON_LINES = (".jsonl", ".ndjson")
# By field: the names of a message's author and text, and the authors that are users.
CHATS = {"messages": ("role", "content"), "conversations": ("from", "value")}
USERS = ("user", "human")
FIELDS = ("prompt", "text", "turns", *CHATS)
# Fields that may hold a list of a user's turns.
TURNS = ("prompt", "turns")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt from a file.

    text: not empty, without half surrogate pairs.
    category: topic of the prompt, to report acceptance by topic; None if the file states none.
    reference: reference answer; None if the file states none.
    """

    text: str
    category: str | None = None
    reference: str | None = None


def read_prompts(source: str) -> list[Prompt]:
    """Returns the prompts in a file, or one prompt per text file if `source` is a folder or glob.

    A .txt file has one prompt per line. A line of a .jsonl or .ndjson file, or an item of a .json
    file's list, is read by `prompt_of`. Blank lines, and hidden files of a folder, are ignored.
    Refuses a source that does not exist, cannot be read, has no prompts or an empty one.
    """
    path = Path(source)
    if path.is_file():
        return _of_file(path)
    paths = [Path(name) for name in glob.glob(source, recursive=True)]
    if path.is_dir():
        below = ((file, file.relative_to(path).parts) for file in path.rglob("*"))
        paths = [file for file, parts in below if not any(part.startswith(".") for part in parts)]
    texts = {file: _text_of(file) for file in sorted(paths) if file.is_file()}
    if not path.is_dir() and not texts:
        raise ValueError(f"prompts must be an existing file, folder or glob, got {source}")
    prompts = [Prompt(text) for text in texts.values() if text is not None]
    if not prompts:
        raise ValueError(f"prompts must hold at least one prompt, got none in {source}")
    left_out = [file for file, text in texts.items() if text is None]
    if left_out:
        others = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        notice(f"left out as no text: {left_out[0]}{others}")
    return prompts


def whole_references(references: Sequence[str | None]) -> list[str] | None:
    """Returns the references if every prompt has one, None if none has one; refuses a mixture."""
    given = [reference for reference in references if reference is not None]
    if given and len(given) != len(references):
        raise ValueError(
            f"references must be as many as the prompts, {len(references)}, got {len(given)}"
        )
    return given or None


def require_characters(text: str, name: str) -> None:
    """Refuses text with half of a surrogate pair, which tokenizers cannot read."""
    lone = re.search("[\ud800-\udfff]", text)
    if lone is not None:
        raise ValueError(
            f"{name} must be whole Unicode characters, got the lone surrogate "
            f"U+{ord(lone[0]):04X} at character {lone.start() + 1}"
        )


def _text_of(file: Path) -> str | None:
    """Returns a file's text; None if it is blank or not text."""
    try:
        text = read_whole(file).decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return text if text.strip() and "\0" not in text else None


def _of_file(path: Path) -> list[Prompt]:
    try:
        text = read_whole(path, most_bytes=MOST_PROMPT_BYTES).decode("utf-8-sig")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"prompts must be readable UTF-8 text, got {path}: {error}") from error
    if path.suffix == ".json":
        records = _parsed(text, str(path))
        records = records if isinstance(records, list) else [records]
        items = [(record, f"{path} item {at}") for at, record in enumerate(records, start=1)]
    else:
        # `splitlines` would also split at U+0085, U+2028 and form feeds.
        lines = enumerate(text.split("\n"), start=1)
        items = [(line, f"{path} line {at}") for at, line in lines if line.strip()]
        if path.suffix in JSON_LINES:
            items = [(_parsed(line, where), where) for line, where in items]
    if not items:
        raise ValueError(f"prompts must hold at least one prompt, got none in {path}")
    return [prompt_of(record, where) for record, where in items]


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{where} must be JSON, got: {error}") from error


def prompt_of(record: Any, where: str) -> Prompt:
    """Returns the prompt of one record: a text, or an object with one of the usual fields.

    An object has a field `prompt`, `text`, `turns`, `messages` (OpenAI) or `conversations`
    (ShareGPT), and may have a `category` and a `reference`. From several turns (MT-bench,
    Spec-Bench) the first turn and its reference are used; from a chat, the user's first message.
    A field with null counts as missing. Refuses a record without prompt or with an empty one.
    """
    if not isinstance(record, (str, Mapping)):
        raise ValueError(f"{where} must be text or a record, got {type(record).__name__}")
    fields = {"prompt": record} if isinstance(record, str) else record
    name = next((name for name in FIELDS if fields.get(name) is not None), None)
    if name is None:
        raise ValueError(f"{where} must have a field {', '.join(FIELDS)}, got none of them")
    text, category, reference = fields[name], fields.get("category"), fields.get("reference")
    if name in TURNS and isinstance(text, list) and text:
        text = text[0]
    if name in CHATS:
        text = _first_user_message(text, name, where)
    if isinstance(reference, list):
        reference = next(iter(reference), None)
    for field, value in ((name, text), ("category", category), ("reference", reference)):
        if not isinstance(value, str) and (field == name or value is not None):
            raise ValueError(f"{where}: field {field} must be text, got {type(value).__name__}")
    if not text.strip():
        raise ValueError(f"a prompt must not be empty, got an empty one: {where}")
    require_characters(text, f"{where}: a prompt")
    return Prompt(text, category, reference)


def _first_user_message(messages: Any, name: str, where: str) -> Any:
    author, content = CHATS[name]
    if not isinstance(messages, list):
        raise ValueError(f"{where}: field {name} must be a list, got {type(messages).__name__}")
    for message in messages:
        if isinstance(message, Mapping) and message.get(author) in USERS:
            text = message.get(content)
            if isinstance(text, list):  # OpenAI's parts, some of which may be images
                parts = [part.get("text") for part in text if isinstance(part, Mapping)]
                text = "\n".join(part for part in parts if isinstance(part, str))
            return text
    raise ValueError(
        f"{where}: field {name} must have a message whose {author} is {' or '.join(USERS)}, "
        "got none"
    )
