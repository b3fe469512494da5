"""Trained models as folders that others load: complete, or not there."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def publish(
    folder: Path,
    module: Any,
    tokenizer: Any,
    note: Mapping[str, object],
    *,
    instead_of: Sequence[Path] = (),
) -> None:
    """Writes a model (safetensors), its tokenizer and training.json, then names the folder so.

    Args:
      folder: must not exist.
      note: how it was trained; JSON.
      instead_of: files that only an unfinished run needs; removed once the folder is there, so that
        a kill in between loses nothing, and leaves both.
    """
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    module.save_pretrained(unfinished)
    tokenizer.save_pretrained(unfinished)
    (unfinished / "training.json").write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")
    unfinished.rename(folder)
    for file in instead_of:
        file.unlink(missing_ok=True)
