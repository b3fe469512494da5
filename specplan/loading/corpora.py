"""The tokenizer and the text that commands which train on text read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from specplan.reports.output import warn

if TYPE_CHECKING:
    from ngram.training.corpus import Corpus


def load_named_tokenizer(name: str) -> Any:
    """Returns the tokenizer of a target: embedded, a Hugging Face name or a folder."""
    from reference.models.huggingface import load_tokenizer
    from specplan.loading.drafters import target_source

    return load_tokenizer(target_source(name))


def read_corpus(sources: tuple[str, ...], pattern: str | None, tokenizer: Any) -> Corpus:
    """Returns the corpus in ids; says what in it was unreadable."""
    from tqdm import tqdm

    from ngram.training.corpus import corpus_files, encode_texts, read_texts

    files = corpus_files(sources, pattern)
    with tqdm(files, desc="read", unit="file", disable=not sys.stderr.isatty()) as bar:
        corpus = encode_texts(read_texts(bar), tokenizer)
    if corpus.replaced > 0:
        warn(f"{corpus.replaced} unreadable byte sequences in the corpus were replaced")
    return corpus
