"""Runs `specplan ngram train` and `specplan ngram score`."""

from dataclasses import asdict

from estimator.training.ngrams import ScoreNgram, TrainNgram, score_ngram, train_ngram
from specplan.commands.ngram import ngram_table
from specplan.reports.bar import Bar
from specplan.reports.output import Printed, answer
from specplan.reports.table import Column, table


def train(request: TrainNgram, form: Printed) -> None:
    """Trains an n-gram model, and prints its size."""
    with Bar("read", "file") as bar:
        description = train_ngram(request, bar)
    output = request.output
    by = "specplan" if description.estimator == "own" else request.program
    text = (
        f"{output}: order {request.order}, {description.texts:,} texts of {description.tokens:,} "
        f"tokens, estimated by {by}\n{ngram_table(description.ngrams)}"
    )
    data = {"file": output, "bytes": output.stat().st_size, **asdict(description)}
    answer(data, lambda: text, form=form)


def score(request: ScoreNgram, form: Printed) -> None:
    """Prints the perplexity of a text under an n-gram model."""
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
    scores = {"our rows": ours} | ({} if kenlm is None else {"KenLM": kenlm})
    columns = [
        Column[str]("perplexity", str),
        Column[str]("all", lambda name: f"{scores[name].perplexity:.4f}"),
        Column[str]("known", lambda name: f"{scores[name].known_perplexity:.4f}"),
    ]
    counted = f"{ours.words:,} tokens and ends of text, {ours.unknown:,} unknown to the model"
    answer(data, lambda: f"{counted}\n{table(scores, columns)}", form=form)
