"""`specplan ngram score`: the perplexity of a text."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from specplan.options.corpus_options import corpus_option, existing_file, glob_option
from specplan.options.json_option import json_option
from specplan.options.requests import Command
from specplan.reports.bar import Bar
from specplan.reports.output import print_json
from specplan.reports.table import Column, table


@click.command("score", cls=Command, short_help="Measure perplexity on a text.")
@click.argument("model", type=existing_file)
@corpus_option
@glob_option
@click.option(
    "--tokenizer",
    "tokenizer_name",
    metavar="NAME|FOLDER",
    help="Tokenizer of the model, named as in train.  [default: the one it was trained with]",
)
@click.option(
    "--binary",
    type=existing_file,
    help="Let KenLM score with this binary, built from the model by its build_binary.",
)
@click.option("--force", is_flag=True, help="Take the model though its tokenizer differs.")
@json_option
def score_command(
    model: Path,
    sources: tuple[str, ...],
    pattern: str | None,
    tokenizer_name: str | None,
    binary: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Perplexity of a text, by our rows and by KenLM.

    KenLM gives the whole probability of <unk> to each token that the model lacks, our rows an
    equal share of it: compare over the tokens that it has. KenLM refuses models of order 1.

    \b
    Example:
      specplan ngram score model.arpa --corpus held-out.txt
    """
    from tqdm import tqdm

    from estimator.loading.corpora import load_named_tokenizer, read_corpus
    from ngram.formats.cache import load_model
    from ngram.formats.description import description_path, read_description, require_tokenizer
    from ngram.rows.perplexity import score_kenlm, score_rows
    from ngram.rows.rows import Rows
    from ngram.rows.vocabulary import vocabulary_of

    if tokenizer_name is None:
        description = read_description(model)
        if description is None:
            raise ValueError(f"tokenizer must be given for {model}, which has no description")
        tokenizer_name = description.tokenizer
        try:
            tokenizer = load_named_tokenizer(tokenizer_name)
        except ValueError as error:
            raise ValueError(
                f"{error} (named by {description_path(model)}; --tokenizer overrides it)"
            ) from error
    else:
        tokenizer = load_named_tokenizer(tokenizer_name)
    if not force:
        require_tokenizer(model, tokenizer, name=tokenizer_name)
    rows = Rows(load_model(model), vocabulary_of(tokenizer))
    with Bar("read", "file") as bar:
        corpus = read_corpus(sources, pattern, tokenizer, progress=bar)
    with tqdm(
        total=len(corpus.sentences), desc="score", unit="token", disable=not sys.stderr.isatty()
    ) as bar:
        ours = score_rows(rows, corpus.sentences, bar.update)
    kenlm = None
    if rows.model.order > 1:
        kenlm = score_kenlm(model if binary is None else binary, corpus.sentences)
    report = {
        "tokens": ours.words,
        "unknown": ours.unknown,
        "perplexity": ours.perplexity,
        "perplexity_known": ours.known_perplexity,
        "kenlm_perplexity": None if kenlm is None else kenlm.perplexity,
        "kenlm_perplexity_known": None if kenlm is None else kenlm.known_perplexity,
    }
    if as_json:
        print_json(report)
        return
    scores = {"our rows": ours} | ({} if kenlm is None else {"KenLM": kenlm})
    click.echo(f"{ours.words:,} tokens and ends of text, {ours.unknown:,} unknown to the model")
    click.echo(
        table(
            scores,
            [
                Column[str]("perplexity", str),
                Column[str]("all", lambda name: f"{scores[name].perplexity:.4f}"),
                Column[str]("known", lambda name: f"{scores[name].known_perplexity:.4f}"),
            ],
        )
    )
