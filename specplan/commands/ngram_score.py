"""`specplan ngram score`: the perplexity of a text."""

from __future__ import annotations

import click

from specplan.options.corpus_options import corpus_option, existing_file, glob_option
from specplan.options.declared import command_option
from specplan.options.json_option import json_option
from specplan.options.requests import Command, run


@click.command(
    "score",
    cls=Command,
    ways={"": "specplan.commands.ngram_work:score"},
    short_help="Measure perplexity on a text.",
)
@click.argument("model", type=existing_file)
@corpus_option
@glob_option
@command_option(
    "--tokenizer",
    "tokenizer_name",
    metavar="NAME|FOLDER",
    help="Tokenizer of the model, named as in train.  [default: the one it was trained with]",
)
@command_option(
    "--binary",
    type=existing_file,
    help="Let KenLM score with this binary, built from the model by its build_binary.",
)
@command_option("--force", is_flag=True, help="Take the model though its tokenizer differs.")
@json_option
@click.pass_context
def score_command(ctx: click.Context, /, **_: object) -> None:
    """Perplexity of a text, by our rows and by KenLM.

    KenLM gives the whole probability of <unk> to each token that the model lacks, our rows an
    equal share of it: compare over the tokens that it has. KenLM refuses models of order 1.

    \b
    Example:
      specplan ngram score model.arpa --corpus held-out.txt
    """
    run(ctx)
