"""Trains an n-gram model on a corpus: writes an ARPA file and its description."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ngram.formats.arpa_files import read_counts, write_arpa
from ngram.formats.description import (
    Description,
    Smoothing,
    content_hash,
    fingerprint,
    write_description,
)
from ngram.rows.words import check_order
from ngram.training.corpus import Corpus
from ngram.training.counts import count_ngrams
from ngram.training.estimate import estimate, prune_thresholds
from ngram.training.katz import Katz
from ngram.training.kneser_ney import KneserNey
from ngram.training.lmplz import run_lmplz


def train(
    corpus: Corpus,
    path: Path,
    *,
    order: int,
    prune: Sequence[int] = (),
    smoothing: Smoothing = "kneser-ney",
    tokenizer: Any,
    tokenizer_name: str,
    lmplz: str | None = None,
) -> Description:
    """Trains a model; writes it and its description atomically, and returns the description.

    KenLM's `lmplz` and our own estimator agree for Kneser-Ney smoothing; Katz's back-off is by our
    own estimator only.

    Args:
      order: 1 to 6.
      prune: by order, n-grams with this count or less are dropped; the last count also holds for
        all higher orders.
      tokenizer_name: the name by which the corpus's tokenizer was loaded.
      lmplz: path of the program; None for our own estimator.
    """
    check_order(order)
    if smoothing == "katz" and lmplz is not None:
        raise ValueError("smoothing must be kneser-ney with lmplz, got katz")
    thresholds = prune_thresholds(prune, order)
    if lmplz is None:
        with tqdm(total=2 * order, desc="train", unit="order", disable=None) as bar:
            counts = count_ngrams(corpus.sentences, order, bar.update)
            smoother = Katz() if smoothing == "katz" else KneserNey()
            grams, fallback_orders = estimate(counts, smoother, prune=thresholds)
            write_arpa(path, grams, bar.update)
    else:
        fallback_orders = run_lmplz(lmplz, corpus.sentences, path, order=order, prune=thresholds)
    description = Description(
        arpa=content_hash(path),
        tokenizer=tokenizer_name,
        fingerprint=fingerprint(tokenizer),
        order=order,
        prune=thresholds,
        estimator="own" if lmplz is None else "lmplz",
        smoothing=smoothing,
        fallback_orders=fallback_orders,
        texts=corpus.texts,
        tokens=corpus.tokens,
        ngrams=tuple(read_counts(path)),
    )
    write_description(path, description)
    return description
