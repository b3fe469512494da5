"""`specplan ngram train`: an n-gram model of your own text."""

from __future__ import annotations

from pathlib import Path

import click

from specplan.options.corpus_options import corpus_option, glob_option
from specplan.options.declared import command_option
from specplan.options.json_option import json_option
from specplan.options.requests import Command, run
from specplan.reports.output import writable


@click.command(
    "train",
    cls=Command,
    ways={"": "specplan.commands.ngram_work:train"},
    short_help="Train an n-gram model on your own text.",
)
@command_option("--order", type=int, default=3, help="Words in the longest n-grams, 1 to 6.")
@corpus_option
@glob_option
@command_option(
    "--tokenizer",
    "tokenizer_name",
    required=True,
    metavar="NAME|FOLDER",
    help="The target's tokenizer, or the target: embedded, a Hugging Face name or a folder.",
)
@command_option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    callback=writable,
    required=True,
    help="The ARPA file to write.",
)
@command_option(
    "--prune",
    default="0",
    metavar="COUNTS",
    help="Drop n-grams seen so often or less: one count an order, as 0,0,1; the last holds on.",
)
@command_option(
    "--estimator",
    type=click.Choice(["auto", "lmplz", "own"]),
    default="auto",
    help="KenLM's lmplz or our own, which agree; auto: lmplz if it is given or on PATH.",
)
@command_option(
    "--smoothing",
    type=click.Choice(["kneser-ney", "katz"]),
    default="kneser-ney",
    help="Interpolated modified Kneser-Ney, or Katz's back-off with Good-Turing discounts.",
)
@command_option("--lmplz", metavar="PATH", help="KenLM's lmplz, if it is not on PATH.")
@json_option
@click.pass_context
def train_command(ctx: click.Context, /, **_: object) -> None:
    """Train an n-gram model on your own text, for any target's tokenizer.

    \b
    Example:
      specplan ngram train --order 3 --corpus src/ --tokenizer gpt2 -o model.arpa
    """
    run(ctx)
