"""Folders of models as save_pretrained writes them, and why one cannot be loaded."""

import json
from pathlib import Path
from typing import Any

CONFIGURATION = "config.json"
WEIGHTS = ("*.safetensors", "*.bin", "*.index.json")
TOKENIZER_FILES = ("tokenizer*", "vocab*", "*.model", "*.spm", "*.tiktoken")
# Bytes of a safetensors file's header that the format allows.
_LONGEST_HEADER = 100_000_000
# Names of the setting for the most positions of a text; the decoder's first.
POSITIONS = ("max_decoder_position_embeddings", "max_position_embeddings", "max_seq_len")
ADVICE = "name a folder that save_pretrained wrote, or a model of the Hugging Face hub"


def require_tokenizer(name: str) -> None:
    """Refuses a path that cannot be loaded as a tokenizer."""
    path = Path(name)
    reason = _missing(path, tokenizer=True)
    if reason is not None and not (path / CONFIGURATION).is_file():
        raise ValueError(f"tokenizer {name!r} could not be loaded: {reason}; {ADVICE}")


def require_folder(name: str) -> None:
    """Refuses a path that cannot be loaded as model and tokenizer."""
    require_tokenizer(name)
    path = Path(name)
    described = (path / CONFIGURATION).is_file()
    if described and not any(file for pattern in WEIGHTS for file in path.glob(pattern)):
        raise ValueError(f"model {name!r} could not be loaded: the folder has no weights; {ADVICE}")
    if described and not configuration_of(name):
        raise ValueError(
            f"model {name!r} could not be loaded: its {CONFIGURATION} is no JSON object; {ADVICE}"
        )


def require_file(folder: str | Path, file: str, what: str) -> None:
    """Refuses a folder without a file. what: what the folder must be, for the message."""
    if not (Path(folder) / file).is_file():
        raise ValueError(f"{what}, got {folder} without {file}")


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


def file_of(name: str, file: str) -> Path | None:
    """Returns a file of a model's folder, or of the hub's cache; None if neither has it."""
    if Path(name).is_dir():
        return path if (path := Path(name) / file).is_file() else None
    try:
        from huggingface_hub import try_to_load_from_cache

        cached = try_to_load_from_cache(name, file)
    except (ImportError, ValueError):
        return None
    return Path(cached) if isinstance(cached, str) else None


def configuration_of(name: str) -> dict[str, Any]:
    """Returns the settings in a model's config.json; empty if there is none that can be read."""
    path = file_of(name, CONFIGURATION)
    try:
        settings = json.loads(path.read_bytes()) if path else {}
    except (ValueError, OSError):
        return {}
    return settings if isinstance(settings, dict) else {}


def require_positions(name: str, new_tokens: int, shown: str) -> None:
    """Refuses more new tokens than fit the positions in a model's config.json after a prompt.

    shown: the model's name in the message.
    """
    config = configuration_of(name)
    config = config.get("text_config", config)
    limit = next((config[key] for key in POSITIONS if config.get(key) is not None), None)
    if isinstance(limit, int) and new_tokens >= limit:  # a prompt has at least one token
        raise ValueError(
            f"prompt and new tokens must fit the {limit} positions of {shown}, got {new_tokens} "
            "new tokens"
        )


def stored_tensors(folder: Path) -> set[str]:
    """Returns the names of the tensors in a folder's safetensors files; refuses damaged files."""
    names: set[str] = set()
    for path in folder.glob("*.safetensors"):
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            try:
                names |= json.loads(file.read(min(length, _LONGEST_HEADER))).keys()
            except (ValueError, AttributeError) as error:
                raise unloadable("model", str(folder), error) from error
    return names
