"""What tells models of one name apart: the files that they are loaded from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ngram.formats.content_hash import content_hash
from ngram.formats.embedded import FOLDER as EMBEDDED_NGRAM
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
    for name in _parts(drafters):
        if name.kind == EMBEDDED:
            sources.append(str(weights_folder("draft")))
        elif name.kind == "hf":
            sources.append(str(name.value))
        else:
            sources += map(str, _own_files(name))
    return [stamp for source in sources for stamp in file_stamps(source)]


def own_hashes(drafter: DrafterName) -> list[str]:
    """Returns hashes of the files of what is no model of transformers: n-grams and heads.

    They are the same on every machine, as stamps are not.
    """
    places = [place for name in _parts([drafter]) for place in _own_files(name)]
    files = [file for place in places for file in (place, *sorted(place.glob("*")))]
    return [content_hash(file)[:16] for file in files if file.is_file()]


def _parts(drafters: Iterable[DrafterName]) -> Iterator[DrafterName]:
    """Yields drafters, and those that they are made of."""
    for drafter in drafters:
        yield drafter
        within = (drafter.otherwise, drafter.rescored_by, drafter.via)
        yield from _parts(name for name in within if name is not None)


def _own_files(name: DrafterName) -> list[Path]:
    """Returns the file or folder of an n-gram or of heads; of other kinds, none."""
    if name.kind == "heads":
        return [Path(weights_folder("heads") if name.value is None else name.value)]
    if name.kind == "ngram":
        return [Path(EMBEDDED_NGRAM if name.value is None else name.value)]
    return []
