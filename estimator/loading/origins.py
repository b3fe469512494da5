"""The files from which models are loaded, and stamps that identify their content."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from estimator.draft_names.kind import EMBEDDED, DrafterKind, walk
from estimator.progress import SILENT, Progress, notice
from ngram.formats.model_files import content_hash
from ngram.training.corpus import Corpus, corpus_files, encode_texts, read_texts
from reference.models.embedded import weights_folder
from reference.models.huggingface import load_tokenizer


def target_source(name: str) -> str:
    """Returns the source of a target or its tokenizer; `embedded` becomes its folder."""
    return str(weights_folder("target")) if name == EMBEDDED else name


def file_stamps(name: str) -> list[str]:
    """Returns name, size and time of each file at a path; a hub name is returned unchanged."""
    path = Path(name)
    if not path.exists():
        return [name]
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    stats = [(file.name, file.stat()) for file in files if file.is_file()]
    return [f"{file} {stat.st_size} {stat.st_mtime_ns}" for file, stat in stats]


def model_files(target: str, drafters: Iterable[DrafterKind]) -> list[str]:
    """Returns the stamps of all files that a target and its drafters are loaded from."""
    sources = [target_source(target)]
    for drafter in drafters:
        sources += [source for part in walk(drafter) for source in part.sources]
    return [stamp for source in sources for stamp in file_stamps(source)]


def own_hashes(drafter: DrafterKind) -> list[str]:
    """Returns hashes of the drafter's files in specplan's own formats: n-grams and heads.

    Unlike stamps, hashes are equal on every machine.
    """
    places = [place for part in walk(drafter) for place in part.own_files]
    files = [file for place in places for file in (place, *sorted(place.glob("*")))]
    return [content_hash(file)[:16] for file in files if file.is_file()]


def load_named_tokenizer(name: str) -> Any:
    """Returns the tokenizer of a target: embedded, a Hugging Face name or a folder."""
    return load_tokenizer(target_source(name))


def read_corpus(
    sources: Sequence[str], pattern: str | None, tokenizer: Any, *, progress: Progress = SILENT
) -> Corpus:
    """Returns the corpus as ids; a notice says how many byte sequences were unreadable."""
    files = corpus_files(sources, pattern)
    progress.expect(len(files))

    def counted() -> Iterator[Path]:
        for file in files:
            yield file
            progress.step()

    corpus = encode_texts(read_texts(counted()), tokenizer)
    if corpus.replaced > 0:
        notice(f"{corpus.replaced} unreadable byte sequences in the corpus were replaced")
    return corpus
