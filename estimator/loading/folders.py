"""Where models and texts are loaded from: names, folders, and stamps that identify their files."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from estimator.draft_names.kind import DrafterKind, walk
from estimator.draft_names.suitable import served_name
from estimator.progress import SILENT, Progress, notice
from estimator.prompts.prompts import prompt_ids
from estimator.settings import PromptSettings
from ngram.formats.model_files import content_hash
from ngram.training.corpus import Corpus, corpus_files, encode_texts, read_texts
from reference.models.embedded import EMBEDDED, embedded_tokenizer, target_source, weights_folder
from reference.models.folders import require_tokenizer

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")


def file_stamps(name: str) -> list[str]:
    """Returns name, size and time of a file, or of each file in a folder; [name] for a hub name."""
    path = Path(name)
    if not path.exists():
        return [name]
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    stats = [(file.name, file.stat()) for file in files if file.is_file()]
    return [f"{file} {stat.st_size} {stat.st_mtime_ns}" for file, stat in stats]


def model_files(target: str, drafters: Iterable[DrafterKind]) -> list[str]:
    """Returns `file_stamps` of all files from which a target and its drafters are loaded."""
    parts = (part for drafter in drafters for part in walk(drafter))
    sources = [target_source(target), *(source for part in parts for source in part.sources)]
    return [stamp for source in sources for stamp in file_stamps(source)]


def own_hashes(drafter: DrafterKind) -> list[str]:
    """Returns hashes of the drafter's files in specplan's own formats, n-grams and heads.

    Equal files have equal hashes on every machine, unlike their modification times.
    """
    places = [place for part in walk(drafter) for place in part.own_files]
    files = [file for place in places for file in (place, *sorted(place.glob("*")))]
    return [content_hash(file)[:16] for file in files if file.is_file()]


def load_named_tokenizer(name: str) -> Any:
    """Returns the tokenizer of a target: embedded, a Hugging Face name or a folder."""
    require_tokenizer(target_source(name))
    from reference.models.huggingface import load_tokenizer

    return load_tokenizer(target_source(name))


def read_corpus(
    sources: Sequence[str], pattern: str | None, tokenizer: Any, *, progress: Progress = SILENT
) -> Corpus:
    """Returns the text of the sources as token ids; warns of bytes that are no text."""
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


@dataclass(frozen=True, slots=True)
class FolderPair:
    """A target, a draft model and prompts, for an engine (a server) that loads models itself.

    target_name, draft_name: the names that the user gave.
    target, draft: hub names, folders or files to load from. A draft's folder has a tokenizer.
    prompts: token ids per prompt, for at least two prompts.
    scored_by_engine: whether only the engine itself can load the models, and so score texts.
    """

    target_name: str
    draft_name: str
    target: str
    draft: str
    prompts: tuple[tuple[int, ...], ...]
    scored_by_engine: bool = False


def folder_pair(
    target: str | None, drafts: Sequence[str], text: PromptSettings, folder: Path
) -> FolderPair:
    """Returns a target, a draft and prompts for an engine, without loading the models.

    target: embedded, a hub name or a folder; None: embedded.
    drafts: name of one draft model; empty: the embedded draft, if the target is embedded.
    folder: folder for temporary files; it must exist as long as the pair is used.
    """
    target = EMBEDDED if target is None else target
    draft = served_name(target, drafts)
    source = target_source(target)
    loaded = _whole_embedded_draft(folder) if draft == EMBEDDED else draft
    if target == draft == EMBEDDED and not text.chat:
        tokenizer: Any = embedded_tokenizer()
    else:
        from reference.models.huggingface import load_tokenizer, require_same_tokenizer

        tokenizer, other = load_tokenizer(source), load_tokenizer(loaded)
        require_same_tokenizer(tokenizer, other, target_name=target, draft_name=draft)
    return FolderPair(target, draft, source, loaded, pair_prompts(text, tokenizer, target))


def pair_prompts(
    text: PromptSettings, tokenizer: Any, target_name: str
) -> tuple[tuple[int, ...], ...]:
    """Returns twice as many prompts as requested: half to measure costs, half to predict."""
    twice = replace(text, num_prompts=2 * text.num_prompts)
    prompts = tuple(map(tuple, prompt_ids(twice, tokenizer, target_name)))
    if len(prompts) < 2:
        raise ValueError(
            "prompts must be at least 2 with `engine`, since prices come from other ones than "
            f"those predicted, got {len(prompts)}"
        )
    return prompts


def _whole_embedded_draft(folder: Path) -> str:
    """Returns a folder with the files of the embedded draft and of its tokenizer, for engines."""
    tokenizer, whole = weights_folder("target"), folder / "draft"
    whole.mkdir()
    files = (*weights_folder("draft").iterdir(), *(tokenizer / name for name in TOKENIZER_FILES))
    for path in files:
        (whole / path.name).symlink_to(path.resolve())
    return str(whole)
