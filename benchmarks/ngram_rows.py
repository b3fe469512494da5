"""Measures full-vocabulary rows against word-by-word KenLM, by vocabulary size; and loading.

    python benchmarks/ngram_rows.py --vocabulary 2048 32000 151936 --tokens 2000000

Trains on an artificial corpus (`ngram_training.zipf_corpus`), loads the ARPA file without and with
its saved arrays, and times rows after contexts of a second such corpus. KenLM scores every word
after a few of these contexts. Memory is relative to the size of the arrays: the growth of a process
that loads the saved arrays and binds them to a vocabulary, its peak while it does so, and its peak
when it reads the ARPA file instead.
"""

import argparse
import multiprocessing
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from ngram_training import peak_bytes, train_own, zipf_corpus

from ngram.formats.model_files import load_model
from ngram.rows.rows import Rows, Vocabulary, load_kenlm

KENLM_CONTEXTS = 3


def seconds_of(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def resident_bytes() -> int:
    """Returns the memory that the process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def loaded(path: Path, vocabulary: int) -> tuple[float, float, float]:
    """Returns seconds to load, and memory held and at the peak, in multiples of the arrays."""
    before = resident_bytes()
    began = time.perf_counter()
    rows = Rows(load_model(path), Vocabulary(vocabulary + 1, end=vocabulary))
    seconds = time.perf_counter() - began
    size = rows.model.nbytes
    return seconds, (resident_bytes() - before) / size, (peak_bytes() - before) / size


def kenlm_seconds(path: Path, contexts: list[list[int]], vocabulary: int) -> float:
    """Returns KenLM's median time for one row, computed word by word."""
    import kenlm

    model = load_kenlm(path)
    words = [str(word) for word in range(vocabulary)]
    after = kenlm.State()
    times = []
    for context in contexts[:KENLM_CONTEXTS]:
        state = kenlm.State()
        model.NullContextWrite(state)
        for word in context:
            following = kenlm.State()
            model.BaseScore(state, str(word), following)
            state = following
        times.append(
            seconds_of(lambda state=state: [model.BaseScore(state, word, after) for word in words])
        )
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vocabulary", type=int, nargs="+", default=[2_048, 32_000, 151_936])
    parser.add_argument("--tokens", type=int, default=2_000_000)
    parser.add_argument("--order", type=int, default=3)
    parser.add_argument("--rows", type=int, default=2_000)
    arguments = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    print(
        f"{'words':>7} {'row us':>8} {'p90 us':>8} {'KenLM us':>9} {'ratio':>6} "
        f"{'ARPA MB':>8} {'read s':>7} {'kept s':>7} {'memory':>7} {'peak':>6} {'reading':>8} "
        "(x arrays)"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.arpa"
        for vocabulary in arguments.vocabulary:
            train_own(zipf_corpus(arguments.tokens, vocabulary), arguments.order, path)
            with spawn.Pool(1) as pool:
                read, _, parsing = pool.apply(loaded, (path, vocabulary))
            with spawn.Pool(1) as pool:
                kept, memory, loading = pool.apply(loaded, (path, vocabulary))
            rows = Rows(load_model(path), Vocabulary(vocabulary + 1, end=vocabulary))
            text = zipf_corpus(arguments.rows + arguments.order, vocabulary).tolist()
            reach = arguments.order - 1
            contexts = [
                [max(word, 0) for word in text[start : start + reach]]
                for start in range(arguments.rows)
            ]
            times = [seconds_of(partial(rows.log_row, context)) for context in contexts]
            row, slow = np.percentile(times, [50, 90])
            theirs = kenlm_seconds(path, contexts, vocabulary)
            print(
                f"{vocabulary:7} {row * 1e6:8.1f} {slow * 1e6:8.1f} {theirs * 1e6:9.0f} "
                f"{theirs / row:6.0f} {path.stat().st_size / 1e6:8.1f} {read:7.2f} {kept:7.2f} "
                f"{memory:7.2f} {loading:6.2f} {parsing:8.2f}"
            )


if __name__ == "__main__":
    main()
