"""Artificial corpora, a tiny tokenizer, and models of them, for the tests of n-grams."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from ngram.formats.arpa import read_arpa, write_arpa
from ngram.rows.backoff import END, BackoffModel, Grams, build
from ngram.training.counts import count_ngrams
from ngram.training.smoothers import KneserNey, estimate

GOLDEN = Path(__file__).parent / "golden"
WORDS = ["def", "return", "if", "else", "for", "in", "x", "y", "(", ")", ":", "=", "+", "0", "1"]


def sentences(texts: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    """Returns texts on end, as the estimators take them."""
    return np.array([word for text in texts for word in [*text, END]], np.int32)


def random_texts(seed: int, *, texts: int = 60, words: int = 30, mean: int = 12) -> list[list[int]]:
    """Returns texts in which a word's successor is often the same one."""
    source = np.random.default_rng(seed)
    law = 1 / np.arange(1, words + 1)
    law /= law.sum()
    next_word = source.permutation(words)
    made = []
    for _ in range(texts):
        text = [int(source.choice(words, p=law))]
        while source.random() > 1 / mean:
            often = source.random() < 0.4
            text.append(int(next_word[text[-1]] if often else source.choice(words, p=law)))
        made.append(text)
    return made


def golden_texts() -> list[list[int]]:
    lines = (GOLDEN / "corpus.txt").read_text().splitlines()
    return [[int(word) for word in line.split()] for line in lines]


def trained(texts: Sequence[Sequence[int]], order: int, prune: Sequence[int] = ()) -> list[Grams]:
    """Returns our own estimate."""
    return estimate(count_ngrams(sentences(texts), order), KneserNey(), prune=prune)[0]


def trained_model(
    texts: Sequence[Sequence[int]], order: int, prune: Sequence[int] = ()
) -> BackoffModel:
    return build(trained(texts, order, prune), source="trained")


def written(
    path: Path, texts: Sequence[Sequence[int]], order: int, prune: Sequence[int] = ()
) -> Path:
    """Returns the ARPA file of our own estimate."""
    write_arpa(path, trained(texts, order, prune))
    return path


Entries = dict[tuple[int, ...], tuple[float, float]]


def entries(orders: Sequence[Grams]) -> Entries:
    """Returns log10 probability and back-off weight by n-gram; 0 where there is no weight."""
    found = {}
    for grams in orders:
        backoffs = np.zeros(len(grams)) if grams.log10_backoff is None else grams.log10_backoff
        for words, probability, backoff in zip(
            grams.words.tolist(), grams.log10_probability, backoffs, strict=True
        ):
            found[tuple(words)] = (float(probability), float(backoff))
    return found


def file_entries(path: Path) -> Entries:
    return entries(list(read_arpa(path)))


def tiny_tokenizer(end: str | None = "<end>", begin: str | None = None) -> Any:
    """Returns a tokenizer of whole words, the end of text last."""
    special = [token for token in ("<other>", begin, end) if token is not None]
    vocabulary = {word: number for number, word in enumerate([*WORDS, *special])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<other>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=end, bos_token=begin, unk_token="<other>"
    )
