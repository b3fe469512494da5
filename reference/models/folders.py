"""Folders of models as save_pretrained writes them, and why one cannot be loaded."""

import json
from pathlib import Path

CONFIGURATION = "config.json"
TOKENIZER_FILES = ("tokenizer*", "vocab*", "*.model", "*.spm", "*.tiktoken")
ADVICE = "name a folder that save_pretrained wrote, or a model of the Hugging Face hub"


def require_folder(name: str) -> None:
    """Refuses a path that cannot be loaded as model and tokenizer."""
    path = Path(name)
    reason = _missing(path, tokenizer=True)
    if reason is not None and not (path / CONFIGURATION).is_file():
        raise ValueError(f"tokenizer {name!r} could not be loaded: {reason}; {ADVICE}")


def _missing(path: Path, *, tokenizer: bool) -> str | None:
    """Returns why a path cannot be loaded; None if it may be loadable, e.g. a name on the hub."""
    if path.is_file():
        gguf = path.suffix.lower() == ".gguf"
        return "it is a GGUF file, which --engine llama.cpp takes" if gguf else "it is a file"
    if not path.is_dir():
        # A name of the hub has at most two parts.
        is_path = path.is_absolute() or len(path.parts) > 2
        return "there is no such folder" if is_path else None
    lacks = [] if (path / CONFIGURATION).is_file() else [CONFIGURATION]
    if tokenizer:
        if any(file for pattern in TOKENIZER_FILES for file in path.glob(pattern)):
            return None
        lacks.append("tokenizer.json")
    return f"the folder has no {' and no '.join(lacks)}" if lacks else None


def unloadable(what: str, name: str, error: Exception) -> ValueError:
    """Returns an error that says why a "model" or "tokenizer" could not be loaded."""
    reason = _missing(Path(name), tokenizer=what == "tokenizer")
    reason = _first_line(error) if reason is None else f"{reason}; {ADVICE}"
    return ValueError(f"{what} {name!r} could not be loaded: {reason}")


def _first_line(error: Exception) -> str:
    """Returns the first line of an error's message; the whole message if that ends in a colon."""
    text = str(error).strip()
    line = text.partition("\n")[0]
    if line.endswith(":"):
        line = " ".join(text.split())
    # The message of other errors ("'x'" of a KeyError) needs the type to be understood.
    return line if isinstance(error, OSError | ValueError) else f"{type(error).__name__}: {line}"


def require_alike_vocabularies(target: str, draft: str) -> None:
    """Refuses two models whose files have different vocabularies, without loading PyTorch.

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
    tokenizer, settings = _file(name, "tokenizer.json"), _file(name, "tokenizer_config.json")
    try:
        parsed = json.loads(tokenizer.read_bytes()) if tokenizer else {}
        tokens = dict(parsed["model"]["vocab"])
        tokens |= {added["content"]: added["id"] for added in parsed["added_tokens"]}
        more = json.loads(settings.read_bytes()) if settings else {}
        named = more.get("added_tokens_decoder", {}).items()
        return tokens | {added["content"]: int(number) for number, added in named}
    except (ValueError, KeyError, TypeError, OSError):
        return {}


def _file(name: str, file: str) -> Path | None:
    """Returns a file of a model's folder, or of the hub's cache; None if neither has it."""
    if Path(name).is_dir():
        return path if (path := Path(name) / file).is_file() else None
    try:
        from huggingface_hub import try_to_load_from_cache

        cached = try_to_load_from_cache(name, file)
    except (ImportError, ValueError):
        return None
    return Path(cached) if isinstance(cached, str) else None
