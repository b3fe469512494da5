"""What `specplan ngram train` does."""

from __future__ import annotations

from dataclasses import asdict

import click

from estimator.ngrams import TrainNgram, train_ngram
from specplan.options.shown import Printed
from specplan.reports.bar import Bar
from specplan.reports.ngrams import ngram_table
from specplan.reports.output import print_json


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
