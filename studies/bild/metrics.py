"""Metrics of texts: against references (BLEU, ROUGE-L, exact), and against the target's own."""

from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np

from estimator.traces.text_laws import log_likelihoods
from reference.models.model import Model
from reference.records import Generation


def reference_metrics(texts: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Returns metrics of texts against one reference each, in per cent.

    bleu: sacrebleu's corpus BLEU as it comes; rouge_l: the mean F-measure of rouge-score's
    ROUGE-L, without stemming; exact: the share of texts equal to their references.

    Raises:
      ModuleNotFoundError: if one of the libraries is not installed.
      ValueError: if there are not as many references as texts.
    """
    if len(texts) != len(references):
        raise ValueError(
            f"references must be as many as the prompts, {len(texts)}, got {len(references)}"
        )
    import sacrebleu
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"])
    pairs = list(zip(texts, references, strict=True))
    return {
        "bleu": float(sacrebleu.corpus_bleu(list(texts), [list(references)]).score),
        "rouge_l": 100
        * float(np.mean([scorer.score(wanted, got)["rougeL"].fmeasure for got, wanted in pairs])),
        "exact": 100 * float(np.mean([got.strip() == wanted.strip() for got, wanted in pairs])),
    }


def own_metrics(
    target: Model,
    prompts: Sequence[Sequence[int]],
    runs: Sequence[Generation],
    own: Sequence[Generation],
) -> dict[str, float]:
    """Returns metrics that need no references.

    agreement: how much of a text and of the target's own greedy one is common, 2M/T in per cent
    (M ids in matching runs of the T in both; Ratcliff and Obershelp), the mean over texts.
    log_likelihood: mean ln p(x) of a text's tokens under the target at temperature 1, over all
    tokens, in nats.
    """
    ratios = [
        SequenceMatcher(None, run.tokens, other.tokens, autojunk=False).ratio()
        for run, other in zip(runs, own, strict=True)
    ]
    likelihoods = [
        log_likelihoods(target, prompt, run.tokens)
        for prompt, run in zip(prompts, runs, strict=True)
    ]
    return {
        "agreement": 100 * float(np.mean(ratios)),
        "log_likelihood": float(np.concatenate(likelihoods).mean()),
    }
