"""Why a name or folder gives no model or tokenizer, in one line that says what to do."""

from pathlib import Path

from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError

# What transformers raises of a folder that is none, or whose files are damaged.
UNLOADABLE = (
    OSError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    AssertionError,
    SafetensorError,
    StrictDataclassError,
)

CONFIGURATION = "config.json"
TOKENIZER_FILES = ("tokenizer*", "vocab*", "*.model", "*.spm", "*.tiktoken")
ADVICE = "name a folder that save_pretrained wrote, or a model of the Hugging Face hub"


def unloadable(kind: str, name: str, error: Exception) -> ValueError:
    """Returns the error that tells a user why something could not be loaded.

    Args:
      kind: "model" or "tokenizer".
      name: a name of the hub or a folder, as the user gave it.
      error: what transformers raised, which explains what the folder does not.
    """
    reason = _missing(kind, Path(name))
    if reason is None:
        reason = _first_line(error)
    else:
        reason += f"; {ADVICE}"
    return ValueError(f"{kind} {name!r} could not be loaded: {reason}")


def _missing(kind: str, path: Path) -> str | None:
    """Returns what keeps a path from being a model's or tokenizer's folder, if that is plain."""
    if path.is_file():
        return "it is a file"
    if not path.is_dir():
        # A name of the hub has at most two parts.
        is_path = path.is_absolute() or len(path.parts) > 2
        return "there is no such folder" if is_path else None
    lacks = [] if (path / CONFIGURATION).is_file() else [CONFIGURATION]
    if kind == "tokenizer":
        if any(file for pattern in TOKENIZER_FILES for file in path.glob(pattern)):
            return None
        lacks.append("tokenizer.json")
    return f"the folder has no {' and no '.join(lacks)}" if lacks else None


def _first_line(error: Exception) -> str:
    """Returns the first line of an error's message; all of it where that line ends in a colon."""
    text = str(error).strip()
    line = text.partition("\n")[0]
    if line.endswith(":"):
        line = " ".join(text.split())
    # The messages of other errors ("'x'", of a KeyError) say little alone.
    return line if isinstance(error, OSError | ValueError) else f"{type(error).__name__}: {line}"
