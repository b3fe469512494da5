"""GGUF files by name: a path, or a repository's file that llama.cpp would choose."""

import re
from collections.abc import Sequence
from pathlib import Path

from estimator.model_shapes.gguf_header import is_gguf

HUB = "hf:"
# llama.cpp takes these of a repository if no quantisation is named, else its first model. Files
# with the words in PARTS are no models of their own (common/download.cpp, find_best_model).
USUAL = ("Q4_K_M", "Q8_0")
PARTS = ("mmproj", "imatrix", "mtp-", "eagle3-", "dflash-", "dspark-")
LATER_SHARD = re.compile(r"-(?!00001)\d{5}-of-\d{5}\.gguf$")


def named_gguf(name: str | None) -> bool:
    """Returns whether a name is a GGUF file's, or hf:USER/MODEL[:QUANTISATION] as in llama.cpp."""
    return name is not None and (is_gguf(name) or name.startswith(HUB))


def gguf_file(name: str) -> Path:
    """Returns the file that a name stands for, downloaded if it is a repository's."""
    if not name.startswith(HUB):
        return Path(name)
    from huggingface_hub import hf_hub_download, list_repo_files

    from reference.models.hub import require_hub

    repository, _, quantisation = name.removeprefix(HUB).partition(":")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise ValueError(f"hf: must be followed by USER/MODEL[:QUANTISATION], got {name}")
    require_hub()
    chosen = chosen_file(list_repo_files(repository), quantisation)
    if chosen is None:
        wanted = f"{quantisation} of it" if quantisation else "one"
        raise ValueError(f"{repository} must have a GGUF file, {wanted} was named, got none")
    return Path(hf_hub_download(repository, chosen))


def chosen_file(files: Sequence[str], quantisation: str) -> str | None:
    """Returns the file of a repository that llama.cpp loads; None if it loads none."""
    models = [
        file
        for file in files
        if is_gguf(file)
        and not any(part in file.rpartition("/")[2] for part in PARTS)
        and LATER_SHARD.search(file) is None
    ]
    for tag in [quantisation] if quantisation else USUAL:
        pattern = re.compile(re.escape(tag) + "[.-]", re.IGNORECASE)
        for file in filter(pattern.search, models):
            return file
    return models[0] if models and not quantisation else None
