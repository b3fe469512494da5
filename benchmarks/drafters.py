"""Compares every kind of drafter on the embedded target: n-grams, look-up, model.

    python benchmarks/drafters.py --work build/drafters

Trains n-gram models of orders 1 to 4, unpruned, on the embedded pair's own training text (the
library files that `held_out` of `reference.models.embedded` does not reserve), as
`specplan ngram train` would, then runs `specplan validate` with all drafters and prints one row a
drafter and temperature.
What --work already has is not made again: the validation is kept there as validation.json.
"""

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from ngram.training.corpus import encode_texts, read_texts
from ngram.training.train import train
from reference.models.embedded import library_files, weights_folder
from reference.models.huggingface import load_tokenizer

ORDERS = {"unigram": 1, "bigram": 2, "trigram": 3, "4-gram": 4}
OTHERS = ["ngram", "lookup", "lookup+ngram", "embedded"]


def train_ngrams(work: Path) -> None:
    """Writes an ARPA file for each order that work does not have."""
    paths = {work / f"{name}.arpa": order for name, order in ORDERS.items()}
    missing = {path: order for path, order in paths.items() if not path.exists()}
    if not missing:
        return
    folder = str(weights_folder("target"))
    tokenizer = load_tokenizer(folder)
    corpus = encode_texts(read_texts(library_files(held=False)), tokenizer)
    for path, order in missing.items():
        train(corpus, path, order=order, tokenizer=tokenizer, tokenizer_name=folder)


def validate(work: Path, options: list[str]) -> list[dict[str, Any]]:
    """Returns the rows of a validation of all drafters."""
    results = work / "validation.json"
    if not results.exists():
        drafts = [f"ngram:{name}.arpa" for name in ORDERS] + OTHERS
        command = [str(Path(sys.executable).with_name("specplan")), "validate", "--json", *options]
        command += [part for draft in drafts for part in ("--draft", draft)]
        done = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, text=True, check=True)
        results.write_text(done.stdout)
    rows: list[dict[str, Any]] = json.loads(results.read_text())["rows"]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare drafters on the embedded target.")
    parser.add_argument("--work", type=Path, required=True, help="models and results")
    parser.add_argument("options", nargs="*", help="of `specplan validate`, after --")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    train_ngrams(arguments.work)
    groups = defaultdict(list)
    for row in validate(arguments.work, arguments.options):
        groups[row["draft"], row["temperature"]].append(row)
    print("| drafter | T | α | c | best γ | predicted (calibrated) | measured [95 %] |")
    print("|---|---|---|---|---|---|---|")
    for (draft, temperature), rows in groups.items():
        best = max(rows, key=lambda row: row["measured"])
        name = draft.removeprefix("ngram:").removesuffix(".arpa")
        print(
            f"| {name} | {temperature:g} | {best['alpha']:.2f} | {best['c']:.3f} | {best['gamma']} "
            f"| {best['predicted_calibrated']:.2f} | {best['measured']:.2f} "
            f"[{best['measured_low']:.2f}, {best['measured_high']:.2f}] |"
        )
    errors = [abs(row["error_percent"]) for rows in groups.values() for row in rows]
    mean = sum(errors) / len(errors)
    print(f"\n{len(errors)} rows: mean |error| {mean:.1f} %, {max(errors):.1f} % at most")


if __name__ == "__main__":
    main()
