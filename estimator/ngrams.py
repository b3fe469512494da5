"""An n-gram model of a user's text, as they ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from estimator.drafters.kind import EMBEDDED
from estimator.loading.corpora import load_named_tokenizer, read_corpus
from estimator.notices import notice
from estimator.progress import SILENT, Progress
from ngram.formats.description import Description, Smoothing
from ngram.rows.words import check_order
from ngram.training.estimate import prune_thresholds
from ngram.training.lmplz import find_lmplz
from ngram.training.train import train


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainNgram:
    """An n-gram model to be trained.

    sources, pattern: files and folders of text, and which files of these.
    tokenizer_name: of the target: embedded, a Hugging Face name or a folder.
    output: the ARPA file to write.
    order: words in the longest n-grams.
    prune: counts at which n-grams are dropped, one an order.
    estimator: auto, lmplz or own.
    smoothing: kneser-ney or katz.
    lmplz: KenLM's program; None: the one on PATH.
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
        """The counts of `prune`.

        Raises:
          ValueError: if one is no integer.
        """
        try:
            return [int(part) for part in self.prune.split(",")]
        except ValueError as error:
            raise ValueError(
                f"prune must be counts separated by commas, got {self.prune!r}"
            ) from error

    @property
    def program(self) -> str | None:
        """The program that estimates; None: this project.

        Raises:
          ValueError: if one is named that cannot be used, or that another setting excludes.
        """
        named = self.estimator == "lmplz" or self.lmplz is not None
        if self.smoothing == "katz" and named:
            raise ValueError("smoothing must be kneser-ney with lmplz, got katz")
        own = self.estimator == "own" or self.smoothing == "katz"
        program = None if own else find_lmplz(self.lmplz)
        if self.estimator == "own" and self.lmplz is not None:
            raise ValueError("lmplz cannot be given with --estimator own")
        if self.estimator == "lmplz" and program is None:
            raise ValueError("lmplz must be on PATH or given by --lmplz, got neither")
        return program


def train_ngram(request: TrainNgram, progress: Progress = SILENT) -> Description:
    """Returns the description of the model that is written.

    Args:
      request: what is asked.
      progress: counts files of text.

    Raises:
      ValueError: with the setting's name, rule and value.
    """
    check_order(request.order)
    prune_thresholds(request.counts, request.order)
    program = request.program
    tokenizer = load_named_tokenizer(request.tokenizer_name)
    corpus = read_corpus(request.sources, request.pattern, tokenizer, progress=progress)
    description = train(
        corpus,
        request.output,
        order=request.order,
        prune=request.counts,
        smoothing=request.smoothing,
        tokenizer=tokenizer,
        tokenizer_name=_everywhere(request.tokenizer_name),
        lmplz=program,
    )
    fallback = "none are used" if request.smoothing == "katz" else "0.5, 1 and 1.5 are used"
    for thin in description.fallback_orders:
        notice(
            f"the corpus is too small or too regular to estimate discounts of {thin}-grams; "
            f"{fallback}"
        )
    return description


def _everywhere(name: str) -> str:
    """Returns a tokenizer's name as it holds elsewhere too: of a folder, its absolute path."""
    path = Path(name)
    return str(path.resolve()) if name != EMBEDDED and path.is_dir() else name
