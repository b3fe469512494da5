"""`specplan ngram`: train, inspect and score n-gram drafters."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from specplan.reports.output import print_json, table, warn, writable

if TYPE_CHECKING:
    from ngram.files.description import Smoothing
    from ngram.training.corpus import Corpus

existing = click.Path(exists=True, dir_okay=False, path_type=Path)
corpus_option = click.option(
    "--corpus",
    "sources",
    multiple=True,
    required=True,
    metavar="FILE|FOLDER",
    help="Text: .txt, .py, .jsonl, each also .gz; of a folder all of these. Repeatable.",
)
glob_option = click.option(
    "--glob", "pattern", metavar="PATTERN", help="Which files of a folder, such as '**/*.md'."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.group("ngram")
def ngram_command() -> None:
    """Train, inspect and score n-gram drafters.

    \b
    Example:
      specplan ngram train --order 3 --corpus src/ --tokenizer gpt2 -o model.arpa
    """


@ngram_command.command("train", short_help="Train an n-gram model on your own text.")
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
    tokenizer = _tokenizer(tokenizer_name)
    corpus = _corpus(sources, pattern, tokenizer)
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
        click.echo(_ngram_table(description.ngrams))


def _prune_counts(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise ValueError(f"prune must be counts separated by commas, got {text!r}") from error


def _tokenizer(name: str) -> Any:
    from reference.models.huggingface import load_tokenizer
    from specplan.loading.drafters import target_source

    return load_tokenizer(target_source(name))


def _tokenizer_name(name: str) -> str:
    """Returns a tokenizer's name as it holds elsewhere too: of a folder, its absolute path."""
    from specplan.loading.drafters import EMBEDDED

    path = Path(name)
    return str(path.resolve()) if name != EMBEDDED and path.is_dir() else name


def _corpus(sources: tuple[str, ...], pattern: str | None, tokenizer: Any) -> Corpus:
    """Returns the corpus in ids; says what in it was unreadable."""
    from tqdm import tqdm

    from ngram.training.corpus import corpus_files, encode_texts, read_texts

    files = corpus_files(sources, pattern)
    with tqdm(files, desc="read", unit="file", disable=not sys.stderr.isatty()) as bar:
        corpus = encode_texts(read_texts(bar), tokenizer)
    if corpus.replaced > 0:
        warn(f"{corpus.replaced} unreadable byte sequences in the corpus were replaced")
    return corpus


def _ngram_table(ngrams: tuple[int, ...]) -> str:
    return table(
        [[str(order), f"{count:,}"] for order, count in enumerate(ngrams, start=1)],
        header=["order", "n-grams"],
    )


@ngram_command.command("info", short_help="Say what an n-gram model is.")
@click.argument("model", type=existing)
@json_option
def info_command(model: Path, as_json: bool) -> None:
    """Say what an n-gram model is: its n-grams, its tokenizer, how it was trained.

    \b
    Example:
      specplan ngram info model.arpa
    """
    from dataclasses import asdict

    from ngram.files.cache import load_model
    from ngram.files.description import description_path, read_description

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
    click.echo(_ngram_table(ngrams))
    if description is None:
        click.echo(f"no description beside it ({description_path(model).name})")
        return
    click.echo(
        f"trained on {description.texts:,} texts of {description.tokens:,} tokens by "
        f"{'specplan' if description.estimator == 'own' else 'lmplz'}, "
        f"pruned at {','.join(map(str, description.prune))}"
    )
    click.echo(f"tokenizer {description.tokenizer}, fingerprint {description.fingerprint[:16]}")


@ngram_command.command("score", short_help="Measure perplexity on a text.")
@click.argument("model", type=existing)
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
    type=existing,
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

    from ngram.files.cache import load_model
    from ngram.files.description import description_path, read_description, require_tokenizer
    from ngram.rows.perplexity import score_kenlm, score_rows
    from ngram.rows.rows import Rows
    from ngram.rows.vocabulary import vocabulary_of

    if tokenizer_name is None:
        description = read_description(model)
        if description is None:
            raise ValueError(f"tokenizer must be given for {model}, which has no description")
        tokenizer_name = description.tokenizer
        try:
            tokenizer = _tokenizer(tokenizer_name)
        except ValueError as error:
            raise ValueError(
                f"{error} (named by {description_path(model)}; --tokenizer overrides it)"
            ) from error
    else:
        tokenizer = _tokenizer(tokenizer_name)
    if not force:
        require_tokenizer(model, tokenizer, name=tokenizer_name)
    rows = Rows(load_model(model), vocabulary_of(tokenizer))
    corpus = _corpus(sources, pattern, tokenizer)
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
            [
                [name, f"{score.perplexity:.4f}", f"{score.known_perplexity:.4f}"]
                for name, score in scores.items()
            ],
            header=["perplexity", "all", "known"],
        )
    )
