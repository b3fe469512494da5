"""Loads the tokenizer and the text for training on text."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from estimator.loading.origins import target_source
from estimator.progress import SILENT, Progress, notice
from ngram.training.corpus import Corpus, corpus_files, encode_texts, read_texts
from reference.models.huggingface import load_tokenizer


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
