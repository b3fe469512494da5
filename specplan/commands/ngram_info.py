"""`specplan ngram info`: what an n-gram model is."""

from __future__ import annotations

from pathlib import Path

import click

from specplan.options.corpus_options import existing_file
from specplan.options.json_option import json_option
from specplan.options.requests import Command
from specplan.reports.ngrams import ngram_table
from specplan.reports.output import print_json


@click.command("info", cls=Command, short_help="Say what an n-gram model is.")
@click.argument("model", type=existing_file)
@json_option
def info_command(model: Path, as_json: bool) -> None:
    """Say what an n-gram model is: its n-grams, its tokenizer, how it was trained.

    \b
    Example:
      specplan ngram info model.arpa
    """
    from dataclasses import asdict

    from ngram.formats.cache import load_model
    from ngram.formats.description import description_path, read_description

    loaded = load_model(model)
    description = read_description(model)
    ngrams = tuple(len(level.words) for level in loaded.levels)
    if as_json:
        print_json(
            {
                "file": model,
                "bytes": model.stat().st_size,
                "array_bytes": loaded.nbytes,
                "order": loaded.order,
                "ngrams": ngrams,
                "description": None if description is None else asdict(description),
            }
        )
        return
    click.echo(
        f"{model}: order {loaded.order}, {model.stat().st_size:,} bytes, "
        f"{loaded.nbytes:,} in memory"
    )
    click.echo(ngram_table(ngrams))
    if description is None:
        click.echo(f"no description beside it ({description_path(model).name})")
        return
    click.echo(
        f"trained on {description.texts:,} texts of {description.tokens:,} tokens by "
        f"{'specplan' if description.estimator == 'own' else 'lmplz'}, "
        f"pruned at {','.join(map(str, description.prune))}"
    )
    click.echo(f"tokenizer {description.tokenizer}, fingerprint {description.fingerprint[:16]}")
