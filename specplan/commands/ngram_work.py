"""What `specplan ngram train` and `specplan ngram score` do."""

from __future__ import annotations

from dataclasses import asdict

import click

from estimator.ngrams import ScoreNgram, TrainNgram, score_ngram, train_ngram
from specplan.options.shown import Printed
from specplan.reports.bar import Bar
from specplan.reports.ngrams import ngram_table
from specplan.reports.output import print_json
from specplan.reports.table import Column, table


def train(request: TrainNgram, form: Printed) -> None:
    """Trains an n-gram model, and prints what it is."""
    with Bar("read", "file") as bar:
        description = train_ngram(request, bar)
    output = request.output
    if form.as_json:
        print_json({"file": output, "bytes": output.stat().st_size, **asdict(description)})
        return
    by = "specplan" if description.estimator == "own" else request.program
    click.echo(
        f"{output}: order {request.order}, {description.texts:,} texts of {description.tokens:,} "
        f"tokens, estimated by {by}"
    )
    click.echo(ngram_table(description.ngrams))


def score(request: ScoreNgram, form: Printed) -> None:
    """Scores a text by an n-gram model, and prints its perplexity."""
    with Bar("read", "file") as read, Bar("score", "token") as scored:
        ours, kenlm = score_ngram(request, read, scored)
    if form.as_json:
        print_json(
            {
                "tokens": ours.words,
                "unknown": ours.unknown,
                "perplexity": ours.perplexity,
                "perplexity_known": ours.known_perplexity,
                "kenlm_perplexity": None if kenlm is None else kenlm.perplexity,
                "kenlm_perplexity_known": None if kenlm is None else kenlm.known_perplexity,
            }
        )
        return
    scores = {"our rows": ours} | ({} if kenlm is None else {"KenLM": kenlm})
    columns = [
        Column[str]("perplexity", str),
        Column[str]("all", lambda name: f"{scores[name].perplexity:.4f}"),
        Column[str]("known", lambda name: f"{scores[name].known_perplexity:.4f}"),
    ]
    click.echo(f"{ours.words:,} tokens and ends of text, {ours.unknown:,} unknown to the model")
    click.echo(table(scores, columns))
