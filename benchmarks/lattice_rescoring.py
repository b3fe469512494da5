"""Times the p best paths of lattices by an n-gram: Kim et al. 2024 (blockwise drafts), I.2.

    python benchmarks/lattice_rescoring.py --ngram build/blockwise/2gram.arpa \
        --ngram build/blockwise/4gram.arpa -o figures/results/lattice.json

The lattices follow library text that the n-grams were not trained on. Each step has the tokens that
the last given n-gram finds likeliest after the text, so most histories are listed and few states
merge. Each lattice counts with its fastest repeat. A cell is the mean over lattices with its
interval.
"""

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
from result_file import setup, write_result
from tqdm import tqdm

from estimator.intervals import ratio_interval
from ngram.formats.model_files import load_model
from ngram.rows.rows import Rows, vocabulary_of
from reference.models.embedded import library_files, weights_folder
from reference.models.huggingface import load_tokenizer
from simulator.numerics.intervals import CONFIDENCE
from studies.blockwise.best_paths import Automaton, Lattice, best_paths, lattice_of, read_lattice

# (steps, arcs, paths): their Tables 12 and 13.
CELLS = [
    *((8, 16, paths) for paths in (2, 4, 8, 16)),
    *((steps, arcs, 1) for steps in (4, 8, 16) for arcs in (2, 4, 8, 16)),
]


def lattice_at(rows: Rows, text: list[int], start: int, *, steps: int, arcs: int) -> Lattice:
    """Returns the lattice of the likeliest tokens at each of the steps that follow a text."""
    laws = [rows.log_row(rows.context(text[: start + step])) for step in range(steps)]
    return lattice_of(np.stack(laws), arcs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ngram", type=Path, action="append", required=True)
    parser.add_argument("--lattices", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    tokenizer = load_tokenizer(str(weights_folder("target")))
    bound = [Rows(load_model(path), vocabulary_of(tokenizer)) for path in arguments.ngram]
    source = np.random.default_rng(0)
    held = library_files(held=True)
    texts = []
    while len(texts) < arguments.lattices:
        path = held[int(source.integers(len(held)))]
        ids = tokenizer(path.read_text(encoding="utf-8", errors="replace")[:20_000])["input_ids"]
        if len(ids) > 100:
            texts.append((ids, int(source.integers(8, len(ids) - 32))))
    deepest = max(steps for steps, _, _ in CELLS)
    widest = max(arcs for _, arcs, _ in CELLS)
    whole = [lattice_at(bound[-1], *text, steps=deepest, arcs=widest) for text in texts]
    rows = []
    for ngram in bound:
        automaton = Automaton(ngram)
        for steps, arcs, paths in tqdm(CELLS, desc=f"{ngram.model.order}-gram"):
            fastest = []
            for (ids, start), lattice in zip(texts, whole, strict=True):
                cut = Lattice(lattice.tokens[:steps, :arcs].copy(), lattice.scores[:steps, :arcs])
                times = []
                for _ in range(arguments.repeats):
                    began = time.perf_counter()
                    read = read_lattice(cut, automaton, ids[start - 8 : start])
                    best_paths(cut, read, count=paths)
                    times.append(time.perf_counter() - began)
                fastest.append(1e3 * min(times))
            low, high = ratio_interval(fastest, [1.0] * len(fastest))
            rows.append(
                {
                    "order": ngram.model.order,
                    "steps": steps,
                    "arcs": arcs,
                    "paths": paths,
                    "ms": statistics.mean(fastest),
                    "low": low,
                    "high": high,
                    "median_ms": statistics.median(fastest),
                    "slowest_ms": max(fastest),
                }
            )
    result = {
        "confidence": CONFIDENCE,
        "rows": rows,
        "setup": {
            "lattices": arguments.lattices,
            "repeats": arguments.repeats,
            "ngrams": {
                f"{ngram.model.order}-gram": [len(level.words) for level in ngram.model.levels]
                for ngram in bound
            },
            **setup("numpy"),
        },
    }
    write_result(arguments.output, result, indent=1)
    for row in rows:
        print(
            "{order}-gram {steps:2} steps {arcs:2} arcs {paths:2} paths: {ms:.2f} ms "
            "[{low:.2f}, {high:.2f}]".format(**row)
        )


if __name__ == "__main__":
    main()
