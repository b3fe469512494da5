"""Folders of ONNX Runtime GenAI: conversion by its model builder, and a pair's configuration."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from reference.files import read_json

CONFIGURATION = "genai_config.json"
BUILDER = "onnxruntime_genai.models.builder"


def builder_command(source: str, folder: str) -> str:
    """Returns the shell command that converts a model in float32 for a processor."""
    names = f"-m {shlex.quote(source)} -o {shlex.quote(folder)}"
    return f"python -m {BUILDER} {names} -p fp32 -e cpu -c {shlex.quote(f'{folder}-cache')}"


def built(source: str, folder: Path) -> str:
    """Returns a folder of the model builder; converts other models with `builder_command`."""
    if (Path(source) / CONFIGURATION).is_file():
        return source
    _, *arguments = shlex.split(builder_command(source, str(folder)))
    ran = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        last = (ran.stderr.strip().splitlines() or ["nothing"])[-1]
        raise ValueError(f"a model must be one that {BUILDER} converts, got {source}: {last}")
    return str(folder)


def write_pair(target: str, draft: str, folder: Path, *, threads: int) -> int:
    """Writes the folders `target`, `draft` and `pair`; returns the id that ends their texts.

    A path with `..` in a configuration is refused by the library, so each folder has links to the
    models' folders, which the model builder wrote.
    """
    sources = {"target": Path(target).resolve(), "draft": Path(draft).resolve()}
    models = {name: _model(path, name, threads) for name, path in sources.items()}
    # Some id must end texts (none: the library takes pad_token_id); the last one is seldom in use.
    end = min(int(model["vocab_size"]) for model in models.values()) - 1
    pair = models["target"] | {"draft": models["draft"]["decoder"]}
    for name, model in {**models, "pair": pair}.items():
        place = folder / name
        place.mkdir()
        for other, path in sources.items():
            (place / other).symlink_to(path)
        whole = {"model": model | {"eos_token_id": [end]}}
        (place / CONFIGURATION).write_text(json.dumps(whole), encoding="utf-8")
    return end


def _model(source: Path, name: str, threads: int) -> dict[str, Any]:
    """Returns `model` of a folder's configuration, whose files lie in the folder `name`."""
    model: dict[str, Any] = read_json(source / CONFIGURATION)["model"]
    decoder = model["decoder"]
    decoder["filename"] = f"{name}/{decoder['filename']}"
    decoder.setdefault("session_options", {})["intra_op_num_threads"] = threads
    return model
