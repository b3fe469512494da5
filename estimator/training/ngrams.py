"""Trains and scores n-gram models on a user's text."""

from dataclasses import dataclass
from pathlib import Path

from estimator.draft_names.kind import EMBEDDED
from estimator.loading.folders import load_named_tokenizer, read_corpus
from estimator.progress import SILENT, Progress, notice
from ngram.formats.model_files import (
    Description,
    Smoothing,
    description_path,
    load_model,
    read_description,
    require_tokenizer,
)
from ngram.rows.backoff import check_order
from ngram.rows.rows import Rows, Score, score_kenlm, score_rows, vocabulary_of
from ngram.training.smoothers import prune_thresholds
from ngram.training.train import find_lmplz, train


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainNgram:
    """Settings of an n-gram model to train.

    tokenizer_name: tokenizer of the target: embedded, a Hugging Face name or a folder.
    prune: a count for each order; n-grams with this count or less are dropped.
    estimator: auto, lmplz or own.
    lmplz: path of KenLM's program lmplz; None: the program on PATH.
    """

    sources: tuple[str, ...]
    tokenizer_name: str
    output: Path
    pattern: str | None = None
    order: int = 3
    prune: str = "0"
    estimator: str = "auto"
    smoothing: Smoothing = "kneser-ney"
    lmplz: str | None = None

    @property
    def counts(self) -> list[int]:
        try:
            return [int(part) for part in self.prune.split(",")]
        except ValueError:
            message = f"prune must be counts separated by commas, got {self.prune!r}"
            raise ValueError(message) from None

    @property
    def program(self) -> str | None:
        """Path of the program that estimates the model; None: specplan's own estimator does."""
        if self.smoothing == "katz" and (self.estimator == "lmplz" or self.lmplz is not None):
            raise ValueError("smoothing must be kneser-ney with lmplz, got katz")
        if self.estimator == "own" and self.lmplz is not None:
            raise ValueError("lmplz cannot be given with `estimator` own")
        own = self.estimator == "own" or self.smoothing == "katz"
        program = None if own else find_lmplz(self.lmplz)
        if self.estimator == "lmplz" and program is None:
            raise ValueError("lmplz must be on PATH or given by `lmplz`, got neither")
        return program


def train_ngram(request: TrainNgram, progress: Progress = SILENT) -> Description:
    """Trains and writes a model; returns its description."""
    check_order(request.order)
    prune_thresholds(request.counts, request.order)
    program = request.program
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreNgram:
    """Settings of a measurement of an n-gram model's perplexity on a text.

    tokenizer_name: tokenizer of the model; None: the tokenizer that it was trained with.
    binary: the model in KenLM's binary format, for KenLM to read; None: KenLM reads the ARPA file.
    force: whether the model is used even if its tokenizer differs.
    """

    model: Path
    sources: tuple[str, ...]
    pattern: str | None = None
    tokenizer_name: str | None = None
    binary: Path | None = None
    force: bool = False


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
