"""`specplan ngram`: trains, inspects and scores n-gram drafters."""

from dataclasses import asdict
from pathlib import Path

import click

from estimator.training.request import ScoreNgram, TrainNgram
from specplan.options.answer import Printed, answer, output_option
from specplan.options.command import Command, reads
from specplan.options.declared import declare, option, takes
from specplan.options.model_options import corpus_option, existing_file, glob_option
from specplan.reports.bar import Bar
from specplan.reports.table import table


@click.group("ngram")
def ngram_command() -> None:
    """Train, inspect and score n-gram drafters.

    \b
    Example:
      specplan ngram train --order 3 --corpus src/ --tokenizer gpt2 -o model.arpa
    """


declare(
    TrainNgram,
    sources=corpus_option,
    pattern=glob_option,
    tokenizer_name=option("--tokenizer", required=True, metavar="NAME|FOLDER"),
    output=output_option(required=True, metavar=None),
    prune=option(metavar="COUNTS"),
    estimator=option(type=click.Choice(["auto", "lmplz", "own"])),
    smoothing=option(type=click.Choice(["kneser-ney", "katz"])),
    lmplz=option(metavar="PATH"),
)


@ngram_command.command("train", cls=Command, short_help="Train an n-gram model on your own text.")
@takes(TrainNgram, Printed)
@reads(TrainNgram, Printed)
def train_command(request: TrainNgram, form: Printed) -> None:
    """Train an n-gram model on your own text, for any target's tokenizer.

    \b
    Example:
      specplan ngram train --order 3 --corpus src/ --tokenizer gpt2 -o model.arpa
    """
    from estimator.training.ngrams import program_of, train_ngram

    with Bar("read", "file") as bar:
        description = train_ngram(request, bar)
    output = request.output
    by = "specplan" if description.estimator == "own" else program_of(request)
    text = (
        f"{output}: order {request.order}, {description.texts:,} texts of {description.tokens:,} "
        f"tokens, estimated by {by}\n{ngram_table(description.ngrams)}"
    )
    data = {"file": output, "bytes": output.stat().st_size, **asdict(description)}
    answer(lambda: data, lambda: text, form=form)


@ngram_command.command("info", cls=Command, short_help="Say what an n-gram model is.")
@click.argument("model", type=existing_file)
@takes(Printed)
def info_command(model: Path, as_json: bool) -> None:
    """Say what an n-gram model is: its n-grams, its tokenizer, how it was trained.

    \b
    Example:
      specplan ngram info model.arpa
    """
    from ngram.formats.model_files import description_path, load_model, read_description

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
    text = (
        f"{model}: order {loaded.order}, {model.stat().st_size:,} bytes, {loaded.nbytes:,} in "
        f"memory\n{ngram_table(ngrams)}\n"
    )
    if description is None:
        text += f"no description next to it ({description_path(model).name})"
    else:
        text += (
            f"trained on {description.texts:,} texts of {description.tokens:,} tokens by "
            f"{'specplan' if description.estimator == 'own' else 'lmplz'}, "
            f"pruned at {','.join(map(str, description.prune))}\n"
            f"tokenizer {description.tokenizer}, fingerprint {description.fingerprint[:16]}"
        )
    answer(lambda: data, lambda: text, form=Printed(as_json))


declare(
    ScoreNgram,
    sources=corpus_option,
    pattern=glob_option,
    tokenizer_name=option("--tokenizer", metavar="NAME|FOLDER"),
    binary=option(type=existing_file),
)


@ngram_command.command("score", cls=Command, short_help="Measure perplexity on a text.")
@click.argument("model", type=existing_file)
@takes(ScoreNgram, Printed, without=("model",))
@reads(ScoreNgram, Printed)
def score_command(request: ScoreNgram, form: Printed) -> None:
    """Perplexity of a text, by our rows and by KenLM.

    KenLM gives the whole probability of <unk> to each token that the model lacks, our rows an
    equal share of it: compare over the tokens that it has. KenLM refuses models of order 1.

    \b
    Example:
      specplan ngram score model.arpa --corpus held-out.txt
    """
    from estimator.training.ngrams import score_ngram

    with Bar("read", "file") as read, Bar("score", "token") as scored:
        ours, kenlm = score_ngram(request, read, scored)
    data = {
        "tokens": ours.words,
        "unknown": ours.unknown,
        "perplexity": ours.perplexity,
        "perplexity_known": ours.known_perplexity,
        "kenlm_perplexity": None if kenlm is None else kenlm.perplexity,
        "kenlm_perplexity_known": None if kenlm is None else kenlm.known_perplexity,
    }
    rows = [{"by": by, "of": of} for by, of in (("our rows", ours), ("KenLM", kenlm)) if of]
    columns = [("perplexity", "{by}"), ("all", "{of.perplexity:.4f}")]
    scores = table(rows, [*columns, ("known", "{of.known_perplexity:.4f}")])
    counted = f"{ours.words:,} tokens and ends of text, {ours.unknown:,} unknown to the model"
    answer(lambda: data, lambda: f"{counted}\n{scores}", form=form)


def ngram_table(ngrams: tuple[int, ...]) -> str:
    """Returns the number of n-grams of each order as text."""
    rows = [{"order": order, "count": count} for order, count in enumerate(ngrams, start=1)]
    return table(rows, [("order", "{order}"), ("n-grams", "{count:,}")])
