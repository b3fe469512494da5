"""Measures n-gram training: seconds and memory by corpus size and order, and against `lmplz`.

    python benchmarks/ngram_training.py --tokens 500000 1000000 4000000 --order 3
    python benchmarks/ngram_training.py --tokens 4000000 --order 3 --lmplz PATH

The corpus is artificial: ids from a Zipf law over the vocabulary, half of them followed by a word
that often follows it, so that longer n-grams repeat. For one core, set OMP_NUM_THREADS=1 and run
under `taskset -c 0`. Each training runs in a process of its own; its memory is that process's peak.
"""

import argparse
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ngram.formats.arpa import write_arpa
from ngram.rows.backoff import END
from ngram.training.counts import count_ngrams
from ngram.training.smoothers import KneserNey, estimate
from ngram.training.train import find_lmplz, run_lmplz

TEXT_TOKENS = 500


def zipf_corpus(tokens: int, vocabulary: int) -> NDArray[np.int32]:
    """Returns texts of TEXT_TOKENS ids, each followed by END."""
    source = np.random.default_rng(0)
    law = 1 / np.arange(1, vocabulary + 1)
    ids = source.choice(vocabulary, size=tokens, p=law / law.sum()).astype(np.int32)
    successors = source.choice(vocabulary, size=(vocabulary, 4), p=law / law.sum())
    follows = source.random(tokens) < 0.5
    choice = source.integers(0, 4, tokens)
    ids[1:] = np.where(follows[1:], successors[ids[:-1], choice[1:]], ids[1:])
    ids[TEXT_TOKENS - 1 :: TEXT_TOKENS] = END
    ids[-1] = END
    return ids


def train_own(sentences: NDArray[np.int32], order: int, path: Path) -> None:
    write_arpa(path, estimate(count_ngrams(sentences, order), KneserNey())[0])


def peak_bytes() -> int:
    """Returns the most memory that this process ever held (Linux)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def measured(
    tokens: int, vocabulary: int, order: int, lmplz: str | None, path: Path
) -> tuple[float, float]:
    """Returns the seconds of one training and the peak memory in GB."""
    sentences = zipf_corpus(tokens, vocabulary)
    began = time.perf_counter()
    if lmplz is None:
        train_own(sentences, order, path)
        seconds = time.perf_counter() - began
        return seconds, peak_bytes() / 1e9
    run_lmplz(lmplz, sentences, path, order=order, prune=(0,) * order)
    seconds = time.perf_counter() - began
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, nargs="+", default=[500_000, 1_000_000, 4_000_000])
    parser.add_argument("--order", type=int, nargs="+", default=[3])
    parser.add_argument("--vocabulary", type=int, default=32_000)
    parser.add_argument("--lmplz", help="path of KenLM's lmplz; by default the one on PATH")
    arguments = parser.parse_args()
    lmplz = find_lmplz(arguments.lmplz)
    context = multiprocessing.get_context("spawn")
    print(f"{'tokens':>10} {'order':>5} {'estimator':>9} {'seconds':>8} {'GB':>6} {'ARPA MB':>8}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.arpa"
        for order in arguments.order:
            for tokens in arguments.tokens:
                for name, program in (("own", None), ("lmplz", lmplz)):
                    if name == "lmplz" and program is None:
                        continue
                    with context.Pool(1) as pool:
                        seconds, gigabytes = pool.apply(
                            measured, (tokens, arguments.vocabulary, order, program, path)
                        )
                    megabytes = path.stat().st_size / 1e6
                    print(
                        f"{tokens:10} {order:5} {name:>9} {seconds:8.1f} {gigabytes:6.2f} "
                        f"{megabytes:8.1f}"
                    )


if __name__ == "__main__":
    main()
