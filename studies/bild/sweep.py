"""A sweep over BiLD's thresholds, compared with speculative decoding and with each model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

import numpy as np
import torch
from msgspec import structs

from estimator.prompts.prompts import prompts_hash
from estimator.timing.arms import run_arms, without_draft
from estimator.timing.precision import Timing, precision_percent
from estimator.timing.rates import (
    AGAIN,
    BASELINE,
    Timed,
    decode_rate,
    fit_costs,
    measured_interval,
    noise,
    probes,
    timed,
)
from estimator.validation.file import row_doubts
from reference.drafter import text_laws
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling, seeded
from reference.models.model import Model
from reference.records import Generation
from reference.speculative import Subject
from simulator.cost.cost import Cost
from studies.bild.cost import BildCalls
from studies.bild.decoder import Fallback, Rollback, read_part
from studies.bild.grid import Arm, arms_of, probes_of
from studies.bild.prediction import bild_trace, predict
from studies.bild.request import Grid
from studies.bild.swept import LARGE, SMALL, BildRow, Sweep


def sweep(
    subject: Subject,
    prompts: Sequence[Sequence[int]],
    grid: Grid,
    timing: Timing,
    *,
    references: Sequence[str] | None = None,
    text_of: Callable[[Sequence[int]], str] = str,
) -> Sweep:
    """Returns the measured quality and speed of every decoder, from interleaved runs.

    subject: the pair, whose drafter must be a model; `subject.rule` is not used.
    references: a reference text per prompt; None: quality is measured without references.
    text_of: decodes ids to the text that is compared with the reference.
    """
    if references is not None and len(references) != len(prompts):
        raise ValueError(
            f"references must be as many as the prompts, {len(prompts)}, got {len(references)}"
        )
    drafter, stopping = subject.drafter, subject.stopping
    assert isinstance(drafter, ModelDrafter)  # the request refuses others
    decoders = arms_of(grid, stopping.end_ids, stopping.max_new_tokens)
    arms = {f"{arm.decoder} {number}": arm for number, arm in enumerate(decoders)}
    begun = {name: arm.begin for name, arm in (probes_of(grid, stopping.end_ids) | arms).items()}
    runs = run_arms(subject, prompts, begun, timing, least=len(prompts))
    texts = timed(runs)
    cost = fit_costs(texts[AGAIN], [read_part(text) for text in probes(texts)])
    predictions = _predictions(subject, drafter, prompts, texts, arms)
    greedy_texts = texts[BASELINE]
    if not subject.sampling.greedy:
        greedy = replace(subject, sampling=replace(subject.sampling, temperature=0.0))
        nothing_drawn = seeded(subject.target.device, 0)
        greedy_texts = [
            without_draft(greedy, prompt, nothing_drawn).finished() for prompt in prompts
        ]
    rows = []
    for name, arm in [(BASELINE, None), *arms.items()]:
        quality = own_metrics(subject.target, prompts, texts[name], greedy_texts)
        if references is not None:
            written = [text_of(text.tokens) for text in texts[name]]
            quality = reference_metrics(written, references) | quality
        row = _row(subject, texts, name, arm)
        calls = predictions.get(name)
        predicted = {} if calls is None else _predicted(calls, cost, row.tokens)
        ids = prompts_hash(prompts)
        row = structs.replace(row, quality=quality, prompts_hash=ids, **predicted)
        rows.append(structs.replace(row, doubts=row_doubts(row)))
    result = Sweep(
        rows=tuple(rows),
        metric="agreement" if references is None else "bleu",
        prompts=len(prompts),
        c=cost.c,
        noise_percent=noise(texts).percent,
        precision_percent=precision_percent(texts),
        repeats=len(runs[BASELINE][-1]),
    )
    front = result.front(rows)
    return replace(result, rows=tuple(structs.replace(row, pareto=row in front) for row in rows))


def _predictions(
    subject: Subject,
    drafter: ModelDrafter,
    prompts: Sequence[Sequence[int]],
    texts: Timed,
    arms: Mapping[str, Arm],
) -> dict[str, BildCalls]:
    """Returns the predicted calls of each BiLD decoder, by name; {} if decoding is not greedy."""
    if not subject.sampling.greedy:
        return {}
    bild = {
        name: (arm.policy, arm.rule)
        for name, arm in arms.items()
        if isinstance(arm.policy, Fallback) and isinstance(arm.rule, Rollback)
    }
    [small] = [name for name in bild if arms[name].decoder == SMALL]
    bild.pop(small)
    longest = max(bild.values(), key=lambda way: way[0].most)
    large_traces, small_traces = (
        [
            bild_trace(subject.target, drafter, prompt, text.tokens, *longest)
            for prompt, text in zip(prompts, texts[name], strict=True)
        ]
        for name in (BASELINE, small)
    )
    most = subject.stopping.max_new_tokens
    return {
        name: predict(large_traces, small_traces, *way, max_new_tokens=most)
        for name, way in bild.items()
    }


def _row(subject: Subject, texts: Timed, name: str, arm: Arm | None) -> BildRow:
    """Returns a decoder's measurements; arm None: it is the large model without a draft."""
    runs = texts[name]
    tokens = np.array([len(text.tokens) for text in runs])
    total = int(tokens.sum())
    seconds = [float((decode_rate(texts[a]) * tokens).sum()) for a in (BASELINE, name)]
    low, high = measured_interval(texts, name)
    sums = ("rollbacks", "discarded", "draft_seconds", "verify_seconds", "other_seconds")
    return BildRow(
        target=subject.target.name,
        draft=subject.drafter.name,
        temperature=subject.sampling.temperature,
        **({"decoder": LARGE, "gamma": 0} if arm is None else arm.settings()),
        quality={},
        measured=seconds[0] / seconds[1],
        measured_low=low,
        measured_high=high,
        ms_per_token=1e3 * seconds[1] / total,
        tokens_per_second=total / seconds[1],
        large_calls=sum(text.target_calls for text in runs),
        small_calls=sum(text.draft_calls for text in runs),
        tokens=total,
        **{name: sum(getattr(text, name) for text in runs) for name in sums},
    )


def _predicted(calls: BildCalls, cost: Cost, tokens: int) -> dict[str, float]:
    """Returns the predicted fields of a `BildRow`: speed, and calls for `tokens` emitted tokens."""
    latency, per_token = calls.latency(cost), tokens / calls.tokens
    return {
        "predicted": 1 / latency,
        "predicted_seconds": latency * cost.baseline_seconds,
        "predicted_large_calls": calls.large_calls * per_token,
        "predicted_small_calls": calls.small_calls * per_token,
    }


def reference_metrics(texts: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Returns metrics of texts, each compared with one reference, in per cent.

    bleu: sacrebleu's corpus BLEU; rouge_l: mean F-measure of rouge-score's ROUGE-L without
    stemming; exact: share of texts that equal their references.
    """
    import sacrebleu
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"])
    pairs = list(zip(texts, references, strict=True))
    rouge = [scorer.score(wanted, got)["rougeL"].fmeasure for got, wanted in pairs]
    return {
        "bleu": float(sacrebleu.corpus_bleu(list(texts), [list(references)]).score),
        "rouge_l": 100 * float(np.mean(rouge)),
        "exact": 100 * float(np.mean([got.strip() == wanted.strip() for got, wanted in pairs])),
    }


@torch.inference_mode()
def own_metrics(
    target: Model,
    prompts: Sequence[Sequence[int]],
    runs: Sequence[Generation],
    greedy_texts: Sequence[Generation],
) -> dict[str, float]:
    """Returns two metrics of a decoder's texts that need no references.

    agreement: similarity of each text to the target's own greedy text, mean over texts: 2M/T in per
    cent for M ids that match and T ids in both texts together (Ratcliff and Obershelp).
    log_likelihood: mean ln p(x) of all tokens under the target at temperature 1, in nats.

    runs: the decoder's texts, one for each prompt; greedy_texts: the target's.
    """
    ratios = [
        SequenceMatcher(None, run.tokens, other.tokens, autojunk=False).ratio()
        for run, other in zip(runs, greedy_texts, strict=True)
    ]
    pairs = zip(prompts, runs, strict=True)
    likelihoods = []
    for prompt, run in pairs:
        [p] = text_laws(target, target.start(prompt), run.tokens, [Sampling()])
        own_tokens = torch.tensor(run.tokens, device=p.device)
        likelihoods.append(p.of(own_tokens).double().log().cpu().numpy())
    return {
        "agreement": 100 * float(np.mean(ratios)),
        "log_likelihood": float(np.concatenate(likelihoods).mean()),
    }
