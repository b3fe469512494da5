"""Trains an n-gram model on a corpus by the own estimator or KenLM's `lmplz`; writes its files."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from ngram.formats.arpa import read_counts, write_arpa
from ngram.formats.model_files import (
    Description,
    Smoothing,
    content_hash,
    fingerprint,
    write_description,
)
from ngram.rows.backoff import END, check_order
from ngram.training.corpus import Corpus
from ngram.training.counts import count_ngrams
from ngram.training.smoothers import FALLBACK_DISCOUNTS, Katz, KneserNey, estimate, prune_thresholds
from reference.files import whole_file

MEMORY = "1G"  # lmplz sorts on disk what exceeds this
TOKENS_AT_ONCE = 1 << 20
FALLBACK = re.compile(r"Substituting fallback discounts for order (\d+)")


def find_lmplz(given: str | None = None) -> str | None:
    """Returns the path of KenLM's `lmplz`: the given program, else the one on PATH, else None."""
    program = shutil.which("lmplz" if given is None else given)
    if given is not None and program is None:
        raise ValueError(f"lmplz must be a program that can be run, got {given}")
    return program


def run_lmplz(
    program: str, sentences: NDArray[np.int32], path: Path, *, order: int, prune: Sequence[int]
) -> tuple[int, ...]:
    """Runs `lmplz`, which writes an ARPA file; returns the orders with fallback discounts.

    sentences: the ids of all texts in sequence, each text followed by END.
    prune: for each order, n-grams with at most this count are dropped.
    """
    # `lmplz` would write probability 1 for a pruned `</s>`.
    texts = int(np.count_nonzero(sentences == END))
    if prune[0] >= texts:
        raise ValueError(
            f"for lmplz the unigrams' prune count must be below the number of texts, {texts}, "
            f"got {prune[0]}"
        )
    with (
        whole_file(path) as partial,
        tempfile.TemporaryDirectory(dir=path.parent, prefix=".lmplz.") as folder,
        Path(folder, "texts").open("w+b") as file,
    ):
        for start in range(0, len(sentences), TOKENS_AT_ONCE):
            ids = " ".join(map(str, sentences[start : start + TOKENS_AT_ONCE].tolist()))
            file.write(f"{ids} ".replace(str(END), "\n").encode())
        file.seek(0)
        command = [program, "--order", str(order), "--memory", MEMORY, "--arpa", str(partial)]
        command += ["--temp_prefix", f"{folder}/", "--prune", *map(str, prune)]
        command += ["--discount_fallback", *map(str, FALLBACK_DISCOUNTS)]
        ran = subprocess.run(command, stdin=file, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        output = ran.stderr.decode("utf-8", "replace")
        if ran.returncode != 0:
            last = output.strip().splitlines()[-1:] or ["no message"]
            raise RuntimeError(f"lmplz failed with status {ran.returncode}: {last[0]}")
    return tuple(int(number) + 1 for number in FALLBACK.findall(output))


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

    order: 1 to 6.
    prune: for each order, n-grams with at most this count are dropped; the last count also holds
      for all higher orders.
    tokenizer_name: the name by which the corpus's tokenizer was loaded.
    lmplz: path of KenLM's program, which trains the model instead of our own estimator; both give
      the same Kneser-Ney model. None: our own estimator.
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
