"""Folders of models as save_pretrained writes them, and why one cannot be loaded."""

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
