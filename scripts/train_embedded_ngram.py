"""Trains the embedded n-gram: a pruned trigram of the embedded pair's training text.

    python scripts/train_embedded_ngram.py

Takes half a minute. It writes ngram/weights/trigram.npz (the arrays, compressed) and training.json
(data, order, pruning, sizes, held-out perplexity). Text: the library files that
`held_out` does not reserve, in the embedded tokenizer's ids. Nothing in it is
random; another Python's library gives another model.
"""

import argparse
from pathlib import Path

import numpy as np
from training import write_note

from ngram.formats.model_files import FOLDER, fingerprint
from ngram.rows.backoff import build, pack
from ngram.rows.rows import Rows, score_rows, vocabulary_of
from ngram.training.corpus import Corpus, encode_texts, read_texts
from ngram.training.counts import count_ngrams
from ngram.training.smoothers import KneserNey, estimate
from reference.files import whole_file
from reference.models.embedded import library_files, weights_folder
from reference.models.huggingface import load_tokenizer

ORDER = 3
PRUNE = (0, 1, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=FOLDER)
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    tokenizer = load_tokenizer(str(weights_folder("target")))

    def library(held: bool) -> Corpus:
        return encode_texts(read_texts(library_files(held=held)), tokenizer)

    corpus, held_out = library(held=False), library(held=True)
    grams, _ = estimate(count_ngrams(corpus.sentences, ORDER), KneserNey(), prune=PRUNE)
    model = build(grams, source="the embedded trigram")
    score = score_rows(Rows(model, vocabulary_of(tokenizer)), held_out.sentences)
    with whole_file(output / "trigram.npz") as partial, partial.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **pack(model))
    note = {
        "fingerprint": fingerprint(tokenizer),
        "order": ORDER,
        "smoothing": "interpolated modified Kneser-Ney",
        "prune": PRUNE,
        "training_texts": corpus.texts,
        "training_tokens": corpus.tokens,
        "ngrams": [len(level.words) for level in model.levels],
        "bytes": (output / "trigram.npz").stat().st_size,
        "held_out_tokens": held_out.tokens,
        "held_out_perplexity": score.perplexity,
    }
    write_note(output, note)


if __name__ == "__main__":
    main()
