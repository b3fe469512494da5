"""`specplan ngram train`: an n-gram model of your own text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from specplan.options.corpus_options import corpus_option, glob_option
from specplan.options.json_option import json_option
from specplan.options.requests import Command
from specplan.reports.bar import Bar
from specplan.reports.ngrams import ngram_table
from specplan.reports.output import print_json, warn, writable

if TYPE_CHECKING:
    from ngram.formats.description import Smoothing


@click.command("train", cls=Command, short_help="Train an n-gram model on your own text.")
@click.option("--order", type=int, default=3, help="Words in the longest n-grams, 1 to 6.")
@corpus_option
@glob_option
@click.option(
    "--tokenizer",
    "tokenizer_name",
    required=True,
    metavar="NAME|FOLDER",
    help="The target's tokenizer, or the target: embedded, a Hugging Face name or a folder.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    callback=writable,
    required=True,
    help="The ARPA file to write.",
)
@click.option(
    "--prune",
    default="0",
    metavar="COUNTS",
    help="Drop n-grams seen so often or less: one count an order, as 0,0,1; the last holds on.",
)
@click.option(
    "--estimator",
    type=click.Choice(["auto", "lmplz", "own"]),
    default="auto",
    help="KenLM's lmplz or our own, which agree; auto: lmplz if it is given or on PATH.",
)
@click.option(
    "--smoothing",
    type=click.Choice(["kneser-ney", "katz"]),
    default="kneser-ney",
    help="Interpolated modified Kneser-Ney, or Katz's back-off with Good-Turing discounts.",
)
@click.option("--lmplz", metavar="PATH", help="KenLM's lmplz, if it is not on PATH.")
@json_option
def train_command(
    order: int,
    sources: tuple[str, ...],
    pattern: str | None,
    tokenizer_name: str,
    output: Path,
    prune: str,
    estimator: str,
    smoothing: Smoothing,
    lmplz: str | None,
    as_json: bool,
) -> None:
    """Train an n-gram model on your own text, for any target's tokenizer.

    \b
    Example:
      specplan ngram train --order 3 --corpus src/ --tokenizer gpt2 -o model.arpa
    """
    from dataclasses import asdict

    from estimator.loading.corpora import load_named_tokenizer, read_corpus
    from ngram.rows.words import check_order
    from ngram.training.estimate import prune_thresholds
    from ngram.training.lmplz import find_lmplz
    from ngram.training.train import train

    check_order(order)
    counts = _prune_counts(prune)
    prune_thresholds(counts, order)
    if smoothing == "katz" and (estimator == "lmplz" or lmplz is not None):
        raise ValueError("smoothing must be kneser-ney with lmplz, got katz")
    program = None if estimator == "own" or smoothing == "katz" else find_lmplz(lmplz)
    if estimator == "own" and lmplz is not None:
        raise ValueError("lmplz cannot be given with --estimator own")
    if estimator == "lmplz" and program is None:
        raise ValueError("lmplz must be on PATH or given by --lmplz, got neither")
    tokenizer = load_named_tokenizer(tokenizer_name)
    with Bar("read", "file") as bar:
        corpus = read_corpus(sources, pattern, tokenizer, progress=bar)
    description = train(
        corpus,
        output,
        order=order,
        prune=counts,
        smoothing=smoothing,
        tokenizer=tokenizer,
        tokenizer_name=_tokenizer_name(tokenizer_name),
        lmplz=program,
    )
    for thin in description.fallback_orders:
        warn(
            f"the corpus is too small or too regular to estimate discounts of {thin}-grams; "
            + ("none are used" if smoothing == "katz" else "0.5, 1 and 1.5 are used")
        )
    report = {"file": output, "bytes": output.stat().st_size, **asdict(description)}
    if as_json:
        print_json(report)
    else:
        click.echo(
            f"{output}: order {order}, {corpus.texts:,} texts of {corpus.tokens:,} tokens, "
            f"estimated by {program or 'specplan'}"
        )
        click.echo(ngram_table(description.ngrams))


def _prune_counts(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise ValueError(f"prune must be counts separated by commas, got {text!r}") from error


def _tokenizer_name(name: str) -> str:
    """Returns a tokenizer's name as it holds elsewhere too: of a folder, its absolute path."""
    from estimator.drafters.kind import EMBEDDED

    path = Path(name)
    return str(path.resolve()) if name != EMBEDDED and path.is_dir() else name
