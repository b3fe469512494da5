"""What tells models of one name apart: the files that they are loaded from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ngram.files.embedded import FOLDER as EMBEDDED_NGRAM
from reference.models.embedded import weights_folder
from specplan.loading.drafters import EMBEDDED, target_source
from specplan.options.drafter_names import DrafterName


def file_stamps(name: str) -> list[str]:
    """Returns name, size and time of the files of a folder or file; a hub name stands for itself.

    Args:
      name: of a model as the user gave it.
    """
    path = Path(name)
    if not path.exists():
        return [name]
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    stats = [(file.name, file.stat()) for file in files if file.is_file()]
    return [f"{file} {stat.st_size} {stat.st_mtime_ns}" for file, stat in stats]


def model_files(target: str, drafters: Iterable[DrafterName]) -> list[str]:
    """Returns the stamps of all files that a target and its drafters are loaded from."""
    sources = [target_source(target)]
    for drafter in drafters:
        for name in (drafter, drafter.otherwise, drafter.rescored_by):
            if name is None:
                continue
            if name.kind == EMBEDDED:
                sources.append(str(weights_folder("draft")))
            elif name.kind == "heads":
                sources.append(str(weights_folder("heads") if name.value is None else name.value))
            elif name.kind == "ngram":
                sources.append(str(EMBEDDED_NGRAM if name.value is None else name.value))
            elif name.kind == "hf":
                sources.append(str(name.value))
    return [stamp for source in sources for stamp in file_stamps(source)]
