"""Trains and scores n-gram models on a user's text."""

from pathlib import Path

from estimator.loading.folders import load_named_tokenizer, read_corpus
from estimator.progress import SILENT, Progress, notice
from estimator.training.request import ScoreNgram, TrainNgram
from ngram.formats.model_files import (
    Description,
    description_path,
    load_model,
    read_description,
    require_tokenizer,
)
from ngram.rows.backoff import check_order
from ngram.rows.rows import Rows, Score, score_kenlm, score_rows, vocabulary_of
from ngram.training.corpus import corpus_files
from ngram.training.smoothers import prune_thresholds
from ngram.training.train import find_lmplz, train
from reference.models.embedded import EMBEDDED


def program_of(request: TrainNgram) -> str | None:
    """Returns the path of KenLM's program, which trains the model; None: specplan does."""
    if request.smoothing == "katz" and (request.estimator == "lmplz" or request.lmplz is not None):
        raise ValueError("smoothing must be kneser-ney with lmplz, got katz")
    if request.estimator == "own" and request.lmplz is not None:
        raise ValueError("lmplz cannot be given with `estimator` own")
    by_specplan = request.estimator == "own" or request.smoothing == "katz"
    program = None if by_specplan else find_lmplz(request.lmplz)
    if request.estimator == "lmplz" and program is None:
        raise ValueError("lmplz must be on PATH or given by `lmplz`, got neither")
    return program


def train_ngram(request: TrainNgram, progress: Progress = SILENT) -> Description:
    """Trains and writes a model; returns its description."""
    check_order(request.order)
    prune_thresholds(request.counts, request.order)
    program = program_of(request)
    corpus_files(request.sources, request.pattern)  # refuses a missing one before a tokenizer loads
    tokenizer = load_named_tokenizer(request.tokenizer_name)
    corpus = read_corpus(request.sources, request.pattern, tokenizer, progress=progress)
    # A folder is named by its absolute path, for use in other folders.
    folder = Path(request.tokenizer_name)
    named = request.tokenizer_name != EMBEDDED and folder.is_dir()
    description = train(
        corpus,
        request.output,
        order=request.order,
        prune=request.counts,
        smoothing=request.smoothing,
        tokenizer=tokenizer,
        tokenizer_name=str(folder.resolve()) if named else request.tokenizer_name,
        lmplz=program,
    )
    fallback = "none are used" if request.smoothing == "katz" else "0.5, 1 and 1.5 are used"
    for thin in description.fallback_orders:
        small = f"the corpus is too small or too regular to estimate discounts of {thin}-grams"
        notice(f"{small}; {fallback}")
    return description


def score_ngram(
    request: ScoreNgram, read: Progress = SILENT, scored: Progress = SILENT
) -> tuple[Score, Score | None]:
    """Returns the perplexity that specplan computes, and KenLM's; KenLM's is None for order 1.

    read, scored: progress, in files that are read and in tokens that are scored.
    """
    name, source = request.tokenizer_name, ""
    if name is None:
        description = read_description(request.model)
        if description is None:
            raise ValueError(
                f"tokenizer must be given for {request.model}, which has no description"
            )
        name = description.tokenizer
        source = f" (named by {description_path(request.model)}; --tokenizer overrides it)"
    try:
        tokenizer = load_named_tokenizer(name)
    except ValueError as error:
        raise ValueError(f"{error}{source}") from error
    if not request.force:
        require_tokenizer(request.model, tokenizer, name=name)
    rows = Rows(load_model(request.model), vocabulary_of(tokenizer))
    corpus = read_corpus(request.sources, request.pattern, tokenizer, progress=read)
    scored.expect(len(corpus.sentences))
    ours = score_rows(rows, corpus.sentences, scored.step)
    if rows.model.order == 1:
        return ours, None
    file = request.model if request.binary is None else request.binary
    return ours, score_kenlm(file, corpus.sentences)
