"""Measures time and memory of `specplan measure --texts`, its start included.

    python benchmarks/recorded_texts.py --draft lookup suffix

The log has ids of the standard library's text: prompts of 500 tokens, outputs of 1000.
"""

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path

PROMPT, OUTPUT = 500, 1000


def write_log(path: Path, texts: int) -> int:
    """Writes the log, and returns how many texts the library gave."""
    from estimator.loading.folders import load_named_tokenizer
    from reference.models.embedded import library_files

    tokenizer = load_named_tokenizer("embedded")
    written = 0
    with path.open("w") as log:
        for file in library_files(held=False):
            ids = tokenizer(file.read_text(errors="ignore"), verbose=False)["input_ids"]
            for start in range(0, len(ids) - PROMPT - OUTPUT + 1, PROMPT + OUTPUT):
                if written == texts:
                    return written
                middle = start + PROMPT
                line = {"prompt": ids[start:middle], "output": ids[middle : middle + OUTPUT]}
                log.write(json.dumps(line) + "\n")
                written += 1
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--texts", type=int, default=1000, help="How many.")
    parser.add_argument("--draft", nargs="+", default=["lookup", "suffix"])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log.jsonl")
        # A child reports at least its parent's peak memory, so another process loads the tokenizer.
        with multiprocessing.get_context("spawn").Pool(1) as elsewhere:
            texts = elsewhere.apply(write_log, (log, given.texts))
        for draft in given.draft:
            words = ["-m", "specplan", "measure", "--texts", str(log), "--draft", draft]
            words += ["--processes", str(given.processes), "--json"]
            for _ in range(given.repeats):
                began = time.perf_counter()
                quiet = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
                child = os.posix_spawn(
                    sys.executable, [sys.executable, *words], os.environ, file_actions=[quiet]
                )
                _, status, used = os.wait4(child, 0)
                if status != 0:
                    sys.exit(f"{draft} failed")
                print(
                    f"{draft}: {texts} texts, {texts * OUTPUT} tokens of outputs: "
                    f"{time.perf_counter() - began:.2f} s, {used.ru_utime + used.ru_stime:.2f} s "
                    f"of a core, {used.ru_maxrss / 1024:.0f} MB a process at most",
                    flush=True,
                )


if __name__ == "__main__":
    main()
