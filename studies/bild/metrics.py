"""Quality of texts: against references (BLEU, ROUGE-L, exact), and against the target's texts."""

from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np

from estimator.traces.text_traces import log_likelihoods
from reference.models.model import Model
from reference.records import Generation


def reference_metrics(texts: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Returns metrics of texts against one reference each, in per cent.

    bleu: sacrebleu's corpus BLEU; rouge_l: mean F-measure of rouge-score's ROUGE-L without
    stemming; exact: share of texts that equal their references.
    """
    require_equal_number(texts, references)
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


def require_equal_number(prompts: Sequence[object], references: Sequence[str]) -> None:
    """Raises ValueError if there are not as many references as prompts."""
    if len(prompts) != len(references):
        raise ValueError(
            f"references must be as many as the prompts, {len(prompts)}, got {len(references)}"
        )


def own_metrics(
    target: Model,
    prompts: Sequence[Sequence[int]],
    runs: Sequence[Generation],
    own: Sequence[Generation],
) -> dict[str, float]:
    """Returns metrics that need no references.

    agreement: similarity of each text to the target's own greedy text, mean over texts: 2M/T in per
    cent, where M of the T ids in both texts are in matching runs (Ratcliff and Obershelp).
    log_likelihood: mean ln p(x) of all tokens under the target at temperature 1, in nats.
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
