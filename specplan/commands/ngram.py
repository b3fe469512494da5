"""`specplan ngram`: trains, inspects and scores n-gram drafters."""

from pathlib import Path

import click

from specplan.options.declared import command_option
from specplan.options.requests import Command, run
from specplan.options.shared import (
    corpus_option,
    existing_file,
    glob_option,
    json_option,
    output_option,
)
from specplan.reports.output import Printed, answer
from specplan.reports.table import Column, table


@click.group("ngram")
def ngram_command() -> None:
    """Train, inspect and score n-gram drafters.

    \b
    Example:
      specplan ngram train --order 3 --corpus src/ --tokenizer gpt2 -o model.arpa
    """


@ngram_command.command(
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
@output_option("The ARPA file to write.", required=True, metavar=None)
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


@ngram_command.command("info", cls=Command, short_help="Say what an n-gram model is.")
@click.argument("model", type=existing_file)
@json_option
def info_command(model: Path, as_json: bool) -> None:
    """Say what an n-gram model is: its n-grams, its tokenizer, how it was trained.

    \b
    Example:
      specplan ngram info model.arpa
    """
    from ngram.formats.cache import load_model
    from ngram.formats.description import description_path, read_description

    loaded = load_model(model)
    description = read_description(model)
    ngrams = tuple(len(level.words) for level in loaded.levels)
    data = {
        "file": model,
        "bytes": model.stat().st_size,
        "array_bytes": loaded.nbytes,
        "order": loaded.order,
        "ngrams": ngrams,
        "description": description,
    }
    lines = [
        f"{model}: order {loaded.order}, {model.stat().st_size:,} bytes, "
        f"{loaded.nbytes:,} in memory",
        ngram_table(ngrams),
    ]
    if description is None:
        lines.append(f"no description next to it ({description_path(model).name})")
    else:
        lines += [
            f"trained on {description.texts:,} texts of {description.tokens:,} tokens by "
            f"{'specplan' if description.estimator == 'own' else 'lmplz'}, "
            f"pruned at {','.join(map(str, description.prune))}",
            f"tokenizer {description.tokenizer}, fingerprint {description.fingerprint[:16]}",
        ]
    answer(data, lambda: "\n".join(lines), form=Printed(as_json))


@ngram_command.command(
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


def ngram_table(ngrams: tuple[int, ...]) -> str:
    """Returns the number of n-grams of each order as text."""
    columns: list[Column[tuple[int, int]]] = [
        Column("order", lambda each: str(each[0])),
        Column("n-grams", lambda each: f"{each[1]:,}"),
    ]
    return table(enumerate(ngrams, start=1), columns)
