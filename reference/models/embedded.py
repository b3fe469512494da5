"""The embedded models: where their files are, and which library files are held out of training."""

import hashlib
import os
import sysconfig
from collections.abc import Callable
from pathlib import Path

EMBEDDED = "embedded"
END_OF_TEXT = "<|endoftext|>"
# Tests differ from the rest of the library; encodings and pydoc_data are tables of data.
LEFT_OUT = frozenset(
    {"site-packages", "dist-packages", "test", "tests", "idle_test", "encodings", "pydoc_data"}
)
HELD_OUT_SHARE = 16


def weights_folder(model: str) -> Path:
    """Returns the folder of an embedded model, "target" or "draft", and its tokenizer."""
    return Path(__file__).parents[1] / "weights" / model


def target_source(name: str) -> str:
    """Returns the name or folder to load a target from; "embedded" becomes its folder."""
    return str(weights_folder("target")) if name == EMBEDDED else name


def embedded_tokenizer() -> Callable[[str], dict[str, list[int]]]:
    """Returns a function that maps a text to its `input_ids`, without loading transformers."""
    from tokenizers import Tokenizer

    whole = Tokenizer.from_file(str(weights_folder("target") / "tokenizer.json"))
    return lambda text: {"input_ids": whole.encode(text).ids}


def held_out(relative_path: str) -> bool:
    """Returns whether a library file is held out of training; its path's hash selects 1 in 16."""
    return hashlib.sha256(relative_path.encode()).digest()[0] % HELD_OUT_SHARE == 0


def library_files(held: bool) -> list[Path]:
    """Returns Python's library files, sorted: held out of training if `held`, else the others."""
    library = Path(sysconfig.get_path("stdlib"))
    paths: list[Path] = []
    for folder, inside, names in os.walk(library):
        inside[:] = set(inside) - LEFT_OUT
        paths += [Path(folder, name) for name in names if name.endswith(".py")]
    return [
        path for path in sorted(paths) if held_out(path.relative_to(library).as_posix()) == held
    ]
